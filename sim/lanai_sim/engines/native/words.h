// What a process waits for, and its polls: the text that Python's `words.py` calls too.
#pragma once
#include "declared.h"

#include "words.c"
