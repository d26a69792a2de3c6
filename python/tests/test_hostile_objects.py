"""Objects that other code made badly: DLPack capsules, instances without a constructor, hooks that fork, recurse and stop."""

import copy
import ctypes
import gc
import inspect
import os
import pickle
import resource
import threading
import unittest

import headlight
import numpy as np

X = np.random.default_rng(0).normal(size=(1, 2, 5, 8)).astype(np.float32)


class DlTensor(ctypes.Structure):
    """DLManagedTensor of the DLPack specification."""

    _fields_ = [("data", ctypes.c_void_p), ("device", ctypes.c_int32 * 2), ("rank", ctypes.c_int32), ("code", ctypes.c_uint8),
                ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64), ("manager", ctypes.c_void_p),
                ("deleter", ctypes.c_void_p)]


new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype, new_capsule.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)


class Made:
    """An array of a library that fills in the structure of DLPack by hand: the memory of X unless told otherwise."""

    def __init__(self, name=b"dltensor", shape=X.shape, strides=None, **fields):
        self.name = name  # a capsule keeps the pointer alone
        self.sizes = shape and (ctypes.c_int64 * len(shape))(*shape)
        self.steps = strides and (ctypes.c_int64 * len(strides))(*strides)
        given = {"data": X.ctypes.data, "device": (1, 0), "rank": len(shape or ()), "code": 2, "bits": 32, "lanes": 1, **fields}
        self.tensor = DlTensor(shape=self.sizes or None, strides=self.steps or None, **given)

    def __dlpack__(self, **options):
        return new_capsule(ctypes.addressof(self.tensor), self.name, None)

    def __dlpack_device__(self):
        return (1, 0)


class Capsules(unittest.TestCase):
    def refused(self, part, **given):
        made = Made(**given)
        for arguments in ((made, X, X), (X, made, X), (X, X, made)):
            with self.assertRaises(headlight.Error) as raised:
                headlight.attention(*arguments)
            self.assertEqual(raised.exception.kind, "input")
            self.assertIn(part, str(raised.exception))

    def test_good_ones(self):
        wanted = headlight.attention(X, X, X)
        np.testing.assert_array_equal(headlight.attention(Made(), Made(), Made()), wanted)
        # From the last token to the first one.
        back = Made(data=X.ctypes.data + 4 * 8 * 4, strides=(80, 40, -8, 1))
        reverse = X[:, :, ::-1]
        np.testing.assert_array_equal(headlight.attention(back, back, back), headlight.attention(reverse, reverse, reverse))
        odd = np.frombuffer(b"\0" + X.tobytes(), np.uint8)
        moved = Made(data=odd.ctypes.data, byte_offset=1)
        np.testing.assert_array_equal(headlight.attention(moved, moved, moved), wanted)
        none = Made(shape=(1, 2, 0, 8), data=None)  # PyTorch's tensors without elements have no memory
        self.assertEqual(headlight.attention(none, none, none).shape, (1, 2, 0, 8))

    def test_bad_ones(self):
        self.refused("no memory", data=None)
        self.refused("device type 2", device=(2, 0))
        self.refused("capsule named", name=b"used_dltensor")
        self.refused("8 bits", bits=8)
        self.refused("elements of type", lanes=4)
        self.refused("0 axes", shape=())
        self.refused("5 axes", shape=(1, 1, 1, 1, 1))
        self.refused("axes", rank=-1)
        self.refused("axes", shape=None, rank=4)
        self.refused("negative size", shape=(1, 2, -5, 8))
        self.refused("larger than memory", shape=(2**40, 2**40, 1, 8))

    def test_results_larger_than_memory(self):
        many = np.broadcast_to(X[:, :1, :1], (1, 1, 2**57, 8))
        with self.assertRaises((MemoryError, ValueError, headlight.Error)):
            headlight.attention(many, X[:, :1], X[:, :1])
        with self.assertRaises((MemoryError, ValueError, headlight.Error)):
            headlight.attention(Made(shape=many.shape, strides=(0, 0, 0, 1)), X[:, :1], X[:, :1])


class Instances(unittest.TestCase):
    def test_without_a_constructor(self):
        kept = []
        run = headlight.load("en").attend("The cat sat", observe=kept.append)
        buffer = headlight.attention(Made(), Made(), Made(), return_lse=True)
        self.assertEqual(buffer.out.shape, X.shape)
        native = [type(run._data), type(run.model._data), *{type(event) for event in kept}, headlight._headlight.DlpackBuffer]
        self.assertGreaterEqual(len(native), 5)
        for kind in (*native, headlight.KvCache, headlight._headlight.KvCache):
            with self.assertRaises(TypeError, msg=str(kind)):
                object.__new__(kind)
        for kind in native:
            with self.assertRaises(TypeError, msg=str(kind)):
                kind.__new__(kind)
            with self.assertRaises(TypeError, msg=str(kind)):
                kind()
            with self.assertRaises(TypeError, msg=str(kind)):
                type("Derived", (kind,), {})

    def test_subclasses_of_the_cache(self):
        class Early(headlight.KvCache):
            def __init__(self):
                try:
                    self.length()
                except headlight.Error as error:
                    self.problem = error
                super().__init__(kv_heads=2, dim=8)

        class Never(headlight.KvCache):
            def __init__(self):
                pass

        cache = Early()
        self.assertIn("Early.__init__ has not run", str(cache.problem))
        cache.append(X, X)
        self.assertEqual(cache.length(), 5)
        for empty in (Never(), headlight.KvCache.__new__(headlight.KvCache)):
            for call in (empty.length, empty.reset, empty.read, lambda: empty.append(X, X), lambda: empty.attention(X),
                         lambda: empty.items, lambda: empty.nbytes):
                with self.assertRaises(headlight.Error) as raised:
                    call()
                self.assertEqual(raised.exception.code, "python.init")

    def test_arguments_of_methods(self):
        cache = headlight.KvCache(kv_heads=2, dim=8, value_dim=np.int64(8))
        with self.assertRaises(TypeError):  # another thread may be using what it would replace
            cache.__init__(kv_heads=2, dim=8)
        with self.assertRaisesRegex(TypeError, "needs the argument dim"):
            headlight.KvCache(kv_heads=2)
        with self.assertRaisesRegex(TypeError, "dtype is a int; need a str"):
            headlight.KvCache(kv_heads=2, dim=8, dtype=3)
        for call, part in ((lambda: cache.length(0, 1), "takes 1"), (lambda: cache.length(1.5), "item is a float; need an integer"),
                           (lambda: cache.length(2**70), "item is outside"), (lambda: cache.length(key=3), "no argument key"),
                           (lambda: cache.truncate(0), "needs the argument length"), (lambda: cache.truncate(0, item=0), "twice"),
                           (lambda: type(cache).length(3), "descriptor"), (lambda: headlight._headlight.explain(cache), "needs 6"),
                           (lambda: headlight._headlight.usual_position(cache), "a KvCache is given"),
                           (lambda: headlight._headlight.figure(3, "svg", {}), "a int is given")):
            with self.assertRaisesRegex(TypeError, part):
                call()
        self.assertEqual(cache.length(item=np.int32(0)), 0)
        self.assertEqual(str(inspect.signature(cache.truncate)), "(item, length)")
        self.assertEqual(str(inspect.signature(cache.append)), "(k, v, counts=None)")

    def test_copies(self):
        cache = headlight.KvCache(kv_heads=2, dim=8)
        model = headlight.load("en")
        for thing in (cache, model, model.attend("The cat")):
            for way in (copy.copy, copy.deepcopy, pickle.dumps):
                if way is not copy.copy or thing is cache:
                    with self.assertRaises(TypeError, msg=f"{way} of {thing}"):
                        way(thing)


class Hooks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = headlight.load("en")
        cls.plain = cls.model.attend("The cat sat on the mat.")

    def test_a_fork_in_a_hook(self):
        statuses = []

        def observe(event):
            if event.kind != "attention" or event.layer != 1:
                return
            child = os.fork()
            if child == 0:
                good = np.isfinite(event.weights()).all() and headlight.attention(X, X, X).shape == X.shape
                os._exit(0 if good and len(self.model.attend("The cat").tokens) else 1)
            statuses.append(os.waitpid(child, 0)[1])

        run = self.model.attend("The cat sat on the mat.", observe=observe)
        self.assertEqual(statuses, [0])
        np.testing.assert_array_equal(run.logits, self.plain.logits)

    def test_threads_with_hooks_of_which_one_fails(self):
        results = {}

        def work(name):
            def observe(event):
                if name == "bad" and event.kind == "attention" and event.layer == 2:
                    raise ZeroDivisionError
                gc.collect(0)

            try:
                results[name] = [self.model.attend("The cat sat on the mat.", observe=observe).logits for _ in range(4)]
            except ZeroDivisionError as error:
                results[name] = error

        threads = [threading.Thread(target=work, args=(name,)) for name in ("good", "bad", "other")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertIsInstance(results["bad"], ZeroDivisionError)
        for name in ("good", "other"):
            for logits in results[name]:
                np.testing.assert_array_equal(logits, self.plain.logits)

    def test_what_a_hook_may_raise(self):
        for kind in (KeyboardInterrupt, SystemExit, GeneratorExit, StopIteration, MemoryError, headlight.Error):
            def fail(*_, kind=kind):
                raise kind("from the hook")

            for options in ({"observe": fail}, {"intervene": fail}, {"intervene": headlight.Intervention(mask=fail)}):
                with self.assertRaises(kind):
                    self.model.attend("The cat", **options)
        np.testing.assert_array_equal(self.model.attend("The cat sat on the mat.").logits, self.plain.logits)

    def test_runs_inside_of_runs(self):
        deepest = []

        def observe(event):
            deepest.append(len(deepest))
            self.model.attend("The cat", observe=observe)

        with self.assertRaises((RecursionError, headlight.Error)):
            self.model.attend("The cat", observe=observe)
        self.assertGreater(len(deepest), 3)

    def test_many_runs_do_not_grow(self):
        def fail(event):
            raise ZeroDivisionError

        def once():
            run = self.model.attend("The cat sat", observe=lambda event: event.kind == "attention" and event.weights())
            run.weights[1, 2], run.logits, run.explain("cat")
            self.model.attend("The cat sat", intervene=headlight.Intervention(residual=lambda event, x: x))
            with self.assertRaises(ZeroDivisionError):
                self.model.attend("The cat sat", observe=fail)
            next(self.model.generate("The", max_tokens=50, stream=True)).text

        for _ in range(50):
            once()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for _ in range(300):
            once()
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        self.assertLess(grown, 4_000, f"{grown} kB more after 300 rounds")

    def test_hooks_that_replace_themselves(self):
        hook = headlight.Intervention()

        def once(event, x):
            hook.residual = None
            gc.collect()
            return x

        hook.residual = once
        run = self.model.attend("The cat sat on the mat.", intervene=hook)
        np.testing.assert_array_equal(run.logits, self.plain.logits)
        runs = [self.model.attend("The cat sat on the mat.")]
        layers = []
        runs[0].replay(lambda event: (runs.clear(), gc.collect(), layers.append(event.layer)))
        self.assertGreater(len(layers), 3)


if __name__ == "__main__":
    unittest.main()
