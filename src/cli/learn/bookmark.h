// Where a reader of the course stopped: one number in $XDG_STATE_HOME/headlight/learn, or ~/.local/state/headlight/learn.
#pragma once

namespace headlight::cli {

// The chapter to continue with; 1 if none was saved or the file cannot be read.
[[nodiscard]] int bookmark();
// False if it cannot be stored, which is not an error.
bool set_bookmark(int chapter) noexcept;

}  // namespace headlight::cli
