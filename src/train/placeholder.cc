// CMake wants one source file until this layer has its own.
