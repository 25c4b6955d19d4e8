/* fake_cuda_undef.h -- after each inclusion of fake_cuda.def. No guard on purpose. */
#undef FAKE_F0
#undef FAKE_F1
#undef FAKE_F2
#undef FAKE_F3
#undef FAKE_F4
#undef FAKE_F5
#undef FAKE_F6
#undef FAKE_F8
