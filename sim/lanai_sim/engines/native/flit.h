// Kinds of flit, as lanai_hdl.link.flit has them.
#pragma once
#include <cstdint>

enum : uint8_t { IDLE = 0, HEAD = 1, DATA = 2, TAIL = 3, CHECK = 4, DOWN = 7 };
