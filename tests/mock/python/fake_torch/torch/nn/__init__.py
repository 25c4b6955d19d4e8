"""Something that torch imports after torch.cuda."""
