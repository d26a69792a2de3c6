class Headlight < Formula
  desc "Transformer attention on CPUs: fast, bit-reproducible and inspectable"
  homepage "https://headlight.invalid/"
  url "https://headlight.invalid/headlight-0.2.0.tar.gz"
  sha256 "@SHA256@"
  license "Apache-2.0"

  depends_on "cli11" => :build
  depends_on "cmake" => :build
  depends_on "cpp-httplib" => :build
  depends_on "highway" => :build
  depends_on "ninja" => :build
  depends_on "pkgconf" => :build
  depends_on "tomlplusplus" => :build
  depends_on "cairo"
  depends_on "fmt"
  depends_on :linux
  depends_on "pango"
  depends_on "pcre2"
  depends_on "simdjson"
  depends_on "utf8proc"

  def install
    system "cmake", "-S", ".", "-B", "build", "-G", "Ninja", "-DHEADLIGHT_C=ON", "-DHEADLIGHT_DIST=OFF", *std_cmake_args
    system "cmake", "--build", "build"
    system "cmake", "--install", "build"
  end

  test do
    assert_match "animal", shell_output("#{bin}/headlight look")
  end
end
