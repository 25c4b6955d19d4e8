"""Call stacks as PyTorch records them: innermost frame first, C++ frames from the allocator outward, then the Python ones.

The names are those of PyTorch's and the interpreter's own functions; file names and functions of the frameworks are public ones."""

from contextlib import contextmanager

ARGS = "c10::ArrayRef<long>, std::optional<c10::ScalarType>, std::optional<c10::Layout>, std::optional<c10::Device>, std::optional<bool>"
TENSOR = "at::Tensor const&"
GATHER = [
    ("torch::unwind::unwind()", "??"),
    ("torch::CapturedTraceback::gather(bool, bool, bool)", "??"),
    ("torch::cuda::(anonymous namespace)::gather_with_cpp()", "memory_snapshot.cpp"),
]
NATIVE = "c10::cuda::CUDACachingAllocator::Native::"
MALLOC = GATHER + [
    (
        NATIVE + "DeviceCachingAllocator::malloc(signed char, unsigned long, CUstream_st*)",
        "CUDACachingAllocator.cpp",
    ),
    (NATIVE + "NativeCachingAllocator::malloc(void**, signed char, unsigned long, CUstream_st*)", ""),
    (NATIVE + "NativeCachingAllocator::allocate(unsigned long)", ""),
    (
        "at::TensorBase at::detail::_empty_generic<long>(c10::ArrayRef<long>, c10::Allocator*, c10::DispatchKeySet, c10::ScalarType, "
        "std::optional<c10::MemoryFormat>)",
        "",
    ),
    (
        "at::detail::empty_generic(c10::ArrayRef<long>, c10::Allocator*, c10::DispatchKeySet, c10::ScalarType, "
        "std::optional<c10::MemoryFormat>)",
        "??",
    ),
    (
        "at::detail::empty_cuda(c10::ArrayRef<long>, c10::ScalarType, std::optional<c10::Device>, std::optional<c10::MemoryFormat>)",
        "??",
    ),
]
FREE = GATHER + [
    (
        NATIVE + "DeviceCachingAllocator::free(" + NATIVE + "(anonymous namespace)::Block*)",
        "CUDACachingAllocator.cpp",
    ),
    (
        "c10::intrusive_ptr<c10::StorageImpl, c10::detail::intrusive_target_default_null_type<c10::StorageImpl> >::reset_not_null_("
        "c10::StorageImpl*)",
        "",
    ),
    ("c10::TensorImpl::~TensorImpl() [clone .localalias]", "TensorImpl.cpp"),
]
ENGINE = [
    ("torch::autograd::Node::operator()(std::vector<at::Tensor, std::allocator<at::Tensor> >&&)", ""),
    (
        "torch::autograd::Engine::evaluate_function(std::shared_ptr<torch::autograd::GraphTask>&, torch::autograd::Node*, "
        "torch::autograd::InputBuffer&, std::shared_ptr<torch::autograd::ReadyQueue> const&)",
        "??",
    ),
    ("torch::autograd::Engine::thread_main(std::shared_ptr<torch::autograd::GraphTask> const&)", "??"),
    (
        "torch::autograd::Engine::thread_init(int, std::shared_ptr<torch::autograd::ReadyQueue> const&, bool)",
        "??",
    ),
    (
        "torch::autograd::python::PythonEngine::thread_init(int, std::shared_ptr<torch::autograd::ReadyQueue> const&, bool)",
        "",
    ),
    ("execute_native_thread_routine", "thread.cc"),
    ("start_thread", "pthread_create.c"),
    ("__clone", "??"),
]
CALL = [("cfunction_call", "methodobject.c"), ("_PyObject_MakeTpCall", "call.c")]
INTERPRETER = [
    ("_PyEval_EvalFrameDefault", "bytecodes.c"),
    ("PyEval_EvalCode", "ceval.c"),
    ("run_mod", "pythonrun.c"),
    ("pymain_run_file", "main.c"),
    ("Py_BytesMain", "main.c"),
    ("__libc_start_main", "??"),
    ("_start", "??"),
]


AUTOCAST = [
    ("at::autocast::cached_cast(c10::ScalarType, at::Tensor const&, c10::DeviceType)", "autocast_mode.cpp"),
    ("at::autocast::WrapFunction_<(at::autocast::CastPolicy)0, (c10::DeviceType)1>::call(%s, %s)" % (TENSOR, TENSOR), "autocast_mode.cpp"),
]


def operator(name):
    """C++ frames of one operator that allocates its result, called from Python."""
    return MALLOC + [
        (
            "at::(anonymous namespace)::(anonymous namespace)::wrapper_CUDA_%s(%s, %s)"
            % (name, TENSOR, ARGS),
            "RegisterCUDA.cpp",
        ),
        (
            "c10::impl::wrap_kernel_functor_unboxed_<c10::impl::detail::WrapFunctionIntoFunctor_<c10::CompileTimeFunctionPointer<at::Tensor ("
            "%s), &at::(anonymous namespace)::%s>, at::Tensor>, at::Tensor (%s)>::call(c10::OperatorKernel*, c10::DispatchKeySet, %s)"
            % (TENSOR, name, TENSOR, TENSOR),
            "RegisterCUDA.cpp",
        ),
        ("at::_ops::%s::call(%s, %s)" % (name, TENSOR, ARGS), "??"),
    ]


class Stacks:
    """The stack of the main thread, as a context: `with stacks.call(...)`. mode is that of _record_memory_history(stacks=...)."""

    def __init__(self, mode="all"):
        self.mode, self.python, self.frames = mode, [], {}

    @contextmanager
    def call(self, *places):
        """Each place is "file:line function"; the first one is the outermost."""
        for place in places:
            where, function = place.rsplit(" ", 1)
            file, line = where.rsplit(":", 1)
            self.python.append((function, file, int(line)))
        try:
            yield
        finally:
            del self.python[len(self.python) - len(places) :]

    def frame(self, name, file, line):
        """A frame is one object in a snapshot, however often it occurs."""
        key = (name, file, line)
        if key not in self.frames:
            self.frames[key] = {"name": name, "filename": file, "line": line}
        return self.frames[key]

    def build(self, native, python):
        out = []
        if self.mode == "all":
            out += [self.frame(name, file, 0) for name, file in native]
        inner = [self.frame(*key) for key in reversed(python)]
        if self.mode == "all" and inner:
            # as CPython 3.12 stacks look: the innermost Python frame among the C++ ones, the others behind them
            out += [self.frame(name, file, 0) for name, file in CALL]
            out += inner[:1] + [self.frame(name, file, 0) for name, file in INTERPRETER] + inner[1:]
        else:
            out += inner
        return out

    def main(self, name):
        """An allocation by operator `name` on the main thread; "cached_cast": a copy in 16 bits that autocast makes."""
        if name == "cached_cast":
            return self.build(operator("_to_copy") + AUTOCAST, self.python)
        native = operator(name) + [
            (
                "torch::autograd::THPVariable_%s(_object*, _object*, _object*)" % name,
                "python_torch_functions_0.cpp",
            )
        ]
        return self.build(native, self.python)

    def free(self):
        return self.build(
            FREE
            + [
                ("THPVariable_clear(THPVariable*)", "python_variable.cpp"),
                ("subtype_dealloc", "typeobject.c"),
            ],
            self.python,
        )

    def backward(self, node, name, python=()):
        """An allocation on the autograd thread, by operator `name` inside the backward of `node`; python: frames of a hook, if any."""
        apply = (
            "torch::autograd::generated::%s::apply(std::vector<at::Tensor, std::allocator<at::Tensor> >&&)"
            % node,
            "??",
        )
        if node == "AccumulateGrad":
            apply = (
                "torch::autograd::AccumulateGrad::apply(std::vector<at::Tensor, std::allocator<at::Tensor> >&&)",
                "??",
            )
        native = operator(name) + [apply] + ENGINE
        return self.build_thread(native, python)

    def backward_free(self, python=()):
        native = FREE + [("torch::autograd::SavedVariable::reset_data()", "??")] + ENGINE
        return self.build_thread(native, python)

    def build_thread(self, native, python):
        out = [self.frame(name, file, 0) for name, file in native] if self.mode == "all" else []
        for place in reversed(python):
            where, function = place.rsplit(" ", 1)
            file, line = where.rsplit(":", 1)
            out.append(self.frame(function, file, int(line)))
        return out
