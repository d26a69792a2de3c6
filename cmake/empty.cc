// CMake wants one source file for a library made of other libraries.
