#!/usr/bin/env python3
"""The callbacks for the Trainers of Transformers and Lightning, driven by stand-ins that call them as those two do: every event of a handler by
getattr(), an object of Lightning's own class. Neither library is imported by memtrace."""

import unittest

from kit import FAIL, Job

RECORD = """
import types, torch
calls = []
class Function:
    def __init__(self, name): self.name = name
    def __enter__(self): calls.append('+' + self.name)
    def __exit__(self, *why): calls.append('-' + self.name)
torch.autograd = types.SimpleNamespace(profiler=types.SimpleNamespace(record_function=Function), _profiler_enabled=lambda: True)
"""
# the events of transformers/trainer_callback.py CallbackHandler, by name and with keywords; a result would become the control
TRAINER = RECORD + FAIL + """
class Handler:
    def __init__(self, callbacks): self.callbacks = callbacks
    def event(self, name, **more):
        control = object()
        for one in self.callbacks:
            result = getattr(one, name)('args', 'state', control, model=None, optimizer=None, **more)
            assert result is None, name
h = Handler([memtrace.TrainerCallback(folder)] if WATCH else [])
h.event('on_init_end')
h.event('on_train_begin')
for step in range(2):
    h.event('on_step_begin')
    h.event('on_pre_optimizer_step')
    h.event('on_optimizer_step')
    h.event('on_step_end')
    h.event('on_log', logs={})
h.event('on_prediction_step')
h.event('on_prediction_step')
h.event('on_evaluate', metrics={})
h.event('on_an_event_of_a_later_version')
"""
LIGHTNING = RECORD + FAIL + """
base = types.ModuleType('pytorch_lightning')
class Callback:
    def state_dict(self): return {}
    def on_train_batch_start(self, *a): raise AssertionError
    def on_train_epoch_end(self, *a): pass
base.Callback = Callback
sys.modules['pytorch_lightning'] = base
made = [memtrace.LightningCallback(folder)] if WATCH else []
def hook(name, *a):
    for one in made: getattr(one, name)('trainer', 'module', *a)
"""


class Callbacks(Job):
    def test_trainer(self):
        want = ["+train_step", "-train_step"] * 2 + ["+evaluate", "-evaluate"]
        self.job(TRAINER + "assert calls == (%r if WATCH else []), calls\nprint('ok')" % want)

    def test_an_error_in_a_step_leaves_no_phase_open(self):
        code = TRAINER + "h.event('on_step_begin')\nh.event('on_step_begin')\nh.event('on_train_end')\n"
        self.job(code + "assert calls[6:] == (['+train_step', '-train_step'] * 2 if WATCH else []), calls\nprint('ok')")

    def test_it_watches(self):
        line, = self.job(TRAINER + "fail()")
        self.assertIn(" Report: ", line)
        self.assertEqual(len(self.files()), 3)

    def test_only_events(self):
        self.job("import torch\nif WATCH:\n    try: memtrace.TrainerCallback(folder).state\n    except AttributeError: pass\n    else: print('no')\nprint('ok')")

    def test_lightning(self):
        code = LIGHTNING + """
assert all(isinstance(one, Callback) and one.state_dict() == {} for one in made)
hook('on_train_batch_start', 'batch', 0)
hook('on_train_batch_end', 'outputs', 'batch', 0)
hook('on_validation_start')
hook('on_validation_end')
hook('on_train_epoch_end')
hook('on_train_batch_start', 'batch', 1)
hook('on_exception', RuntimeError())
want = ['+train_step', '-train_step', '+evaluate', '-evaluate', '+train_step', '-train_step']
assert calls == (want if WATCH else []), calls
import pickle
again = pickle.loads(pickle.dumps(made))
assert [type(a) for a in again] == [type(m) for m in made]
fail()
"""
        line, = self.job(code)
        self.assertIn(" Report: ", line)

    def test_lightning_is_not_there(self):
        code = "import torch\ntry:\n    if WATCH: memtrace.LightningCallback(folder)\n    else: import lightning.pytorch\nexcept ImportError: print('ImportError')"
        self.job(code)


if __name__ == "__main__":
    unittest.main()
