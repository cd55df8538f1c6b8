// What an instruction does in its execute stage, as lanai_hdl.core.execute, alu and access say.
#pragma once
#include <stdint.h>

#include "core_instruction.h"

struct CoreFlags {
    uint32_t result;  // of which Z and N are
    bool carry, overflow;

    bool holds(unsigned cond) const {
        const bool zero = !result, negative = result >> 31;
        bool predicate = true;
        switch (cond >> 1) {
            case 1: predicate = carry && !zero; break;
            case 2: predicate = !carry; break;
            case 3: predicate = !zero; break;
            case 4: predicate = !overflow; break;
            case 5: predicate = !negative; break;
            case 6: predicate = negative == overflow; break;
            case 7: predicate = negative == overflow && !zero; break;
        }
        return predicate != bool(cond & 1);
    }
};

// An instruction on its way to the execute stage. `b` is complemented where the adder subtracts.
struct CoreIssued {
    uint32_t pc = 0, word = 0, a = 0, b = 0, d = 0;
    bool holds = false, passes = false, start = false;
};

struct CoreShifted {
    uint32_t result;
    bool carry;
};

inline CoreShifted core_shift(uint32_t a, uint32_t amount, bool arithmetic) {
    const bool right = amount >> 31;
    const unsigned distance = (right ? 0u - amount : amount) & 31;
    if (!distance) return {a, false};
    if (!right) return {a << distance, bool(a >> (32 - distance) & 1)};
    return {arithmetic ? uint32_t(int32_t(a) >> distance) : a >> distance, false};
}

inline uint32_t core_count(uint32_t a, unsigned function) {
    if (function == 1) return uint32_t(__builtin_popcount(a));
    if (!a) return 32;
    return uint32_t(function == 2 ? __builtin_clz(a) : __builtin_ctz(a));
}

// How a word becomes the value of a load.
struct CoreLanes {
    CoreSize size;
    bool is_signed;
    uint8_t low;  // bits of the address
    bool window;  // it is a register of the NIC

    uint32_t pick(uint32_t word) const {
        if (size == CoreSize::WORD) return word;
        if (size == CoreSize::HALF) {
            const uint32_t half = word >> (16 - 8 * (low & 2)) & 0xFFFF;
            return is_signed ? uint32_t(int32_t(int16_t(half))) : half;
        }
        const uint32_t byte = word >> (24 - 8 * low) & 0xFF;
        return is_signed ? uint32_t(int32_t(int8_t(byte))) : byte;
    }

    void take(const uint64_t* model) {
        size = model[CORE_WHOLE] ? CoreSize::WORD : model[CORE_HALF_OR_MORE] ? CoreSize::HALF : CoreSize::BYTE;
        is_signed = model[CORE_FILL_UPPER];
        low = uint8_t(3 - model[CORE_SIGN]);
        window = false;
    }
    void give(uint64_t* model) const {
        const unsigned byte_lane = 3u - low, half_lane = low & 2 ? 1 : 3;
        const bool half = size == CoreSize::HALF, whole = size == CoreSize::WORD;
        model[CORE_ON_BUS] = 1;
        model[CORE_HALF_OR_MORE] = half || whole;
        model[CORE_WHOLE] = whole;
        model[CORE_FROM_WINDOW] = 0;
        model[CORE_FIRST] = whole ? 0 : half ? half_lane - 1 : byte_lane;
        model[CORE_SECOND] = half && !(low & 2);
        model[CORE_SIGN] = half ? half_lane : byte_lane;
        model[CORE_FILL_SECOND] = is_signed && !half && !whole;
        model[CORE_FILL_UPPER] = is_signed && !whole;
    }
};

struct CoreOutcome {
    bool writes, transfer, late, access, window, sets_flags;  // window: the access reads a register of the NIC
    uint8_t index;
    uint32_t value, address;
    CoreFlags flags;

    // Delay slots of a transfer.
    uint8_t slots() const { return late ? 2 : 1; }

    CoreLanes lanes(const CoreAction& action) const {
        return {action.size, action.is_signed, uint8_t(address & 3), window};
    }

    // False, and of no use, if the instruction traps or writes a register of the NIC. `in_slot`: it stands in the slot
    // of a transfer.
    bool of(const CoreAction& action, const CoreIssued& it, const CoreFlags& before, bool in_slot,
            uint32_t limit) {
        access = late = action.memory;
        transfer = access ? action.loads_pc() : it.passes && action.rd == CORE_PC;
        if (transfer && in_slot) return false;
        uint64_t sum = 0;
        bool carry = false;
        switch (action.unit) {
            case CoreUnit::ALU:
                if (action.logic()) {
                    value = action.op & 2 ? it.a ^ it.b : action.op & 1 ? it.a | it.b : it.a & it.b;
                } else {
                    sum = uint64_t(it.a) + it.b + it.start;
                    carry = sum >> 32;
                    value = uint32_t(sum);
                }
                break;
            case CoreUnit::SHIFT: {
                const CoreShifted shifted = core_shift(it.a, it.b, action.arithmetic);
                value = shifted.result;
                carry = shifted.carry;
                break;
            }
            case CoreUnit::COUNT: value = core_count(it.a, action.function); break;
            case CoreUnit::SELECT: value = it.holds ? it.a : it.b; break;
            case CoreUnit::TEST: value = it.holds; break;
        }
        index = access ? action.base : action.rd;
        writes = index > CORE_PC && (access ? action.update : it.passes);
        sets_flags = action.flags;
        if (sets_flags) set_flags(action, it, before, carry);
        window = false;
        if (!access) return true;
        address = action.pre ? value : it.a;
        return may_access(action, limit);
    }

  private:
    void set_flags(const CoreAction& action, const CoreIssued& it, const CoreFlags& before, bool carry) {
        flags = before;
        flags.result = it.passes ? value : it.d;
        if (!it.passes) return;
        const bool overflow = !action.logic() && !((it.a ^ it.b) >> 31) && (value ^ it.a) >> 31;
        const bool shifts = action.unit == CoreUnit::SHIFT, kept = before.carry && !action.clear_carry;
        flags.carry = shifts || !action.logic() ? carry : kept;
        flags.overflow = !shifts && overflow;
    }

    bool may_access(const CoreAction& action, uint32_t limit) {
        const CoreSize size = action.size;
        const uint32_t misaligned = size == CoreSize::WORD ? address & 3 : size == CoreSize::HALF ? address & 1 : 0;
        if (misaligned) return false;
        if (address < limit) return true;
        return window = address - REGISTERS_LOCAL < REGISTERS_SIZE && size == CoreSize::WORD && !action.store;
    }
};
