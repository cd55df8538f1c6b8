// Numbers that a model reads when it begins: its Verilog has `$value$plusargs`.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include <verilated.h>

// Before the first evaluation of a model with this context.
inline void give_numbers(VerilatedContext& context, std::initializer_list<const char*> names, const uint32_t* numbers) {
    std::vector<std::string> arguments{"model"};
    for (const char* name : names) arguments.push_back('+' + std::string(name) + '=' + std::to_string(*numbers++));
    std::vector<const char*> pointers;
    for (const std::string& argument : arguments) pointers.push_back(argument.c_str());
    context.commandArgs(int(pointers.size()), pointers.data());
}
