// A picture or file of one head of a run.
#pragma once

#include <string>

#include "headlight/figure.h"

namespace headlight::serve {

enum class FileForm : std::uint8_t { png, svg, pdf, json, npy };

struct FileRequest {
  ViewRequest view = {};  // of one head
  FigureLook look = {};
  FileForm form = FileForm::png;

  [[nodiscard]] Part part() const { return *view.part; }
  [[nodiscard]] HeadPlace head() const { return view.heads.front(); }
};

// `written`: the translation was requested, and is part of captions of the encoder's heads too.
[[nodiscard]] std::string file_of(Context& ctx, const Run& run, const FileRequest& request, bool written,
                                  const Progress& progress = {});
[[nodiscard]] std::string_view name_of(FileForm form) noexcept;  // "png"
[[nodiscard]] std::string_view media_type(FileForm form) noexcept;

}  // namespace headlight::serve
