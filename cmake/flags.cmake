# Flags of our own code. Contraction is off everywhere: two inlinings of one function must give the
# same bits, so a fused multiply-add appears only where the source asks for it.
add_library(headlight_flags INTERFACE)
target_compile_options(headlight_flags INTERFACE
  -ffp-contract=off -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion)
