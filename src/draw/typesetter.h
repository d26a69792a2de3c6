// Measures text and fits it into a given width. DejaVu Sans, by Pango; missing characters come from other
// installed fonts.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "draw/drawing.h"

namespace headlight::draw {

class Typesetter {
 public:
  Typesetter();  // throws Error{file} when the fonts are missing
  ~Typesetter();
  Typesetter(const Typesetter&) = delete;
  Typesetter& operator=(const Typesetter&) = delete;

  [[nodiscard]] double width(std::string_view text, const TextLook& look) const;
  [[nodiscard]] bool has_glyphs(std::string_view text) const;
  // Shortened, ending in "…", if it is wider.
  [[nodiscard]] std::string fitted(std::string_view text, const TextLook& look, double width) const;
  // Broken at spaces into lines that are not wider; a wider word is shortened.
  [[nodiscard]] std::vector<std::string> wrapped(std::string_view text, const TextLook& look,
                                                 double width) const;

  struct Parts;  // Pango's

 private:
  std::unique_ptr<Parts> parts_;
};

inline constexpr double kLineHeight = 1.3;    // from baseline to baseline, in font sizes
inline constexpr double kCapHeight = 0.73;    // of a capital letter
inline constexpr double kTightHeight = 1.16;  // from the highest to the lowest point of letters
inline constexpr std::string_view kFontFamily = "DejaVu Sans";

}  // namespace headlight::draw
