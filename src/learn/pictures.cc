// The pictures of docs/learn, embedded in the program. HEADLIGHT_LEARN is the course's folder, set by the build.
#include "learn/chapter_html.h"
#include "learn/course.h"

// clang-format off
#define HEADLIGHT_PICTURE(n) "headlight_picture_" n ":\n.incbin \"" HEADLIGHT_LEARN "/pictures/" n ".svg\"\n.byte 0\n"
asm(".section .rodata\n"
    HEADLIGHT_PICTURE("01")
    HEADLIGHT_PICTURE("02")
    HEADLIGHT_PICTURE("03")
    HEADLIGHT_PICTURE("04")
    HEADLIGHT_PICTURE("05")
    HEADLIGHT_PICTURE("06")
    HEADLIGHT_PICTURE("07")
    HEADLIGHT_PICTURE("08")
    HEADLIGHT_PICTURE("09")
    HEADLIGHT_PICTURE("10")
    HEADLIGHT_PICTURE("11")
    HEADLIGHT_PICTURE("12")
    HEADLIGHT_PICTURE("13")
    HEADLIGHT_PICTURE("14")
    HEADLIGHT_PICTURE("15")
    HEADLIGHT_PICTURE("16")
    ".previous\n");
// clang-format on
extern "C" const char headlight_picture_01[], headlight_picture_02[], headlight_picture_03[],
    headlight_picture_04[], headlight_picture_05[], headlight_picture_06[], headlight_picture_07[],
    headlight_picture_08[], headlight_picture_09[], headlight_picture_10[], headlight_picture_11[],
    headlight_picture_12[], headlight_picture_13[], headlight_picture_14[], headlight_picture_15[],
    headlight_picture_16[];  // NOLINT: labels of the assembler

namespace headlight::learn {

std::string_view chapter_picture(int number) {
  static constexpr const char* kPictures[] = {
      headlight_picture_01, headlight_picture_02, headlight_picture_03, headlight_picture_04,
      headlight_picture_05, headlight_picture_06, headlight_picture_07, headlight_picture_08,
      headlight_picture_09, headlight_picture_10, headlight_picture_11, headlight_picture_12,
      headlight_picture_13, headlight_picture_14, headlight_picture_15, headlight_picture_16,
  };
  return kPictures[chapter(number).number - 1];  // chapter() throws if there is none
}

}  // namespace headlight::learn
