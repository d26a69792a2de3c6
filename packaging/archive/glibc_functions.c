/* Functions that the libraries of the archive want from glibc 2.36, for systems with an older one. tools/make-archive adds this
 * as a shared library; tools/elf_versions.py makes the libraries accept it. */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>

/* As glibc: there is no way to report a failure, and going on without random numbers would be worse. */
void arc4random_buf(void* buffer, size_t size) {
  unsigned char* at = buffer;
  while (size > 0) {
    const ssize_t got = getrandom(at, size, 0);
    if (got < 0 && errno != EINTR) abort();
    if (got > 0) {
      at += got;
      size -= (size_t)got;
    }
  }
}

uint32_t arc4random(void) {
  uint32_t value;
  arc4random_buf(&value, sizeof value);
  return value;
}
