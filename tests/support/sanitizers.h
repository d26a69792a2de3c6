// Is this a sanitizer's build? Its allocator ends the program where ours reports an error.
#pragma once

namespace headlight::testing {

#if defined(__has_feature)
#define HEADLIGHT_HAS_FEATURE(x) __has_feature(x)
#else
#define HEADLIGHT_HAS_FEATURE(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || HEADLIGHT_HAS_FEATURE(address_sanitizer)
inline constexpr bool kAddressSanitizer = true;
#else
inline constexpr bool kAddressSanitizer = false;
#endif
#if defined(__SANITIZE_THREAD__) || HEADLIGHT_HAS_FEATURE(thread_sanitizer)
inline constexpr bool kThreadSanitizer = true;
#else
inline constexpr bool kThreadSanitizer = false;
#endif
#undef HEADLIGHT_HAS_FEATURE
inline constexpr bool kSanitized = kAddressSanitizer || kThreadSanitizer;
// How much longer than a second may take what is linear, and would take minutes if it were not.
inline constexpr double kPatience = kSanitized ? 10 : 1;

// How often to repeat what is slow under a sanitizer, which looks at memory and threads: neither needs many digits.
constexpr int repeats(int in_release) { return kSanitized ? (in_release + 9) / 10 : in_release; }

}  // namespace headlight::testing
