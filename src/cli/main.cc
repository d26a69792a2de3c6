#include "cli/app.h"

int main(int argc, char** argv) { return headlight::cli::run(argc, argv); }
