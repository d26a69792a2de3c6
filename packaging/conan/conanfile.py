"""Conan 2 recipe of the libraries. `conan create packaging/conan` builds the checkout that it is in."""

import os

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy


class HeadlightConan(ConanFile):
    name = "headlight"
    version = "0.2.0"
    description = "Transformer attention on CPUs: fast, bit-reproducible and inspectable"
    license = "Apache-2.0"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "models": [True, False]}
    default_options = {"shared": False, "models": False}

    def export_sources(self):
        root = os.path.join(self.recipe_folder, "..", "..")
        for pattern in ("CMakeLists.txt", "LICENSE", "cmake/*", "include/*", "src/*", "examples/*", "tools/check_includes.py"):
            copy(self, pattern, root, self.export_sources_folder)

    def requirements(self):
        self.requires("highway/1.2.0")
        if self.options.models:
            for name in ("fmt/10.2.1", "simdjson/3.9.1", "utf8proc/2.9.0", "pcre2/10.43", "zlib/[>=1.2.13 <2]", "pango/1.51.0"):
                self.requires(name)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["HEADLIGHT_PROGRAM"] = False
        toolchain.cache_variables["HEADLIGHT_INSTALL"] = True
        toolchain.cache_variables["HEADLIGHT_COMPONENTS"] = "attention;nn;text;models" if self.options.models else "attention"
        toolchain.cache_variables["BUILD_SHARED_LIBS"] = bool(self.options.shared)
        toolchain.generate()
        CMakeDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))

    def package_info(self):
        # The installed headlight-config.cmake defines the targets headlight::attention, headlight::models and so on.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = ["lib/cmake/headlight"]
