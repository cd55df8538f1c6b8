// The processor's registers outside the model, as lanai_hdl.core has them, and how the model keeps them.
//
// nic_model.h declares CORE_CPU_USED, CORE_WORDS, the words of a model by name, and where fields are.
#pragma once
#include <cstdint>

#include "core_execute.h"
#include "core_instruction.h"

constexpr uint64_t CORE_TIME = 0x1FFFFFFFF;  // a mask of bits of the clock, which counts slots

struct CoreState {
    struct Ready {
        bool valid;
        uint32_t pc, word;
    };
    struct Result {
        bool writes;
        uint8_t index;
        uint32_t value;
    };

    Ready ready;
    CoreIssued issued;
    Result moved, loaded;
    CoreFlags flags;
    CoreLanes lanes;  // of what the access of the slot before has read, if `access_loaded`
    bool issued_valid, again, results, arrived, arrived_to_pc, loaded_to_pc;
    bool fetched, turns, is_held, access_loaded, noted, due;
    uint8_t loaded_rd, left, slots_left;
    uint32_t pc, target, rdata, used;
    uint32_t value;  // of the register that was read
    uint64_t now;

    static bool is_data(unsigned index) { return index > CORE_PC; }

    // What the access of the slot before has read, as it is loaded.
    uint32_t arrival() const { return lanes.pick(lanes.window ? value : rdata); }

    // From the registers of a model, in a slot in which the processor issues an instruction. False if something is
    // under way that is not known here.
    bool take(const uint64_t* model) {
        if ((model[CORE_NOTED] | model[CORE_DUE]) & ~CORE_CPU_USED) return false;
        if (model[CORE_ACCESS_LOADED] && !model[CORE_ON_BUS]) return false;
        if (field(model, CORE_READY, READY_FAULT, 3) || model[CORE_FETCHED_FAULT]) return false;
        ready = {true, field(model, CORE_READY, READY_PC, 32), field(model, CORE_READY, READY_WORD, 32)};
        issued = {};
        issued_valid = again = false;
        moved = result(model[CORE_MOVED]);
        loaded = result(model[CORE_LOADED]);
        results = model[CORE_RESULTS];
        arrived = model[CORE_ARRIVED];
        arrived_to_pc = model[CORE_ARRIVED_TO_PC];
        loaded_rd = uint8_t(model[CORE_LOADED_RD]);
        loaded_to_pc = model[CORE_LOADED_TO_PC];
        fetched = model[CORE_FETCHED];
        pc = uint32_t(model[CORE_FETCH_PC]);
        left = uint8_t(model[CORE_FETCH_LEFT]);
        turns = model[CORE_FETCH_TURNS];
        target = uint32_t(model[CORE_FETCH_TARGET]);
        slots_left = uint8_t(model[CORE_SLOTS_LEFT]);
        flags = {uint32_t(model[CORE_FLAGS_RESULT]), model[CORE_CARRY] != 0, model[CORE_OVERFLOW] != 0};
        rdata = uint32_t(model[CORE_RDATA]);
        is_held = model[CORE_IS_HELD];
        access_loaded = model[CORE_ACCESS_LOADED];
        lanes.take(model);
        noted = model[CORE_NOTED] != 0;
        due = model[CORE_DUE] != 0;
        used = uint32_t(model[CORE_USED]);
        now = model[CORE_NOW];
        return true;
    }

    // Put the registers into those of a model. A register of the NIC was not read in the slot before.
    void give(uint64_t* model) const {
        give_ready(model);
        give_issued(model);
        model[CORE_AGAIN] = again;
        model[CORE_MOVED] = bits(moved);
        model[CORE_LOADED] = bits(loaded);
        model[CORE_RESULTS] = results;
        model[CORE_ARRIVED] = arrived;
        model[CORE_ARRIVED_TO_PC] = arrived_to_pc;
        model[CORE_LOADED_RD] = loaded_rd;
        model[CORE_LOADED_TO_PC] = loaded_to_pc;
        model[CORE_FETCHED] = fetched;
        model[CORE_FETCHED_FAULT] = 0;
        model[CORE_FETCH_PC] = pc;
        model[CORE_FETCH_LEFT] = left;
        model[CORE_FETCH_TURNS] = turns;
        model[CORE_FETCH_TARGET] = target;
        model[CORE_SLOTS_LEFT] = slots_left;
        model[CORE_FLAGS_RESULT] = flags.result;
        model[CORE_CARRY] = flags.carry;
        model[CORE_OVERFLOW] = flags.overflow;
        model[CORE_RDATA] = rdata;
        model[CORE_IS_HELD] = is_held;
        model[CORE_ACCESS_LOADED] = access_loaded;
        lanes.give(model);
        model[CORE_NOTED] = noted ? CORE_CPU_USED : 0;
        model[CORE_DUE] = due ? CORE_CPU_USED : 0;
        model[CORE_USED] = used;
        model[CORE_NOW] = now;
    }

  private:
    static Result result(uint64_t word) { return {bool(word & 1), uint8_t(word >> 1 & 31), uint32_t(word >> 6)}; }
    static uint64_t bits(const Result& one) { return one.writes | one.index << 1 | uint64_t(one.value) << 6; }

    // Fields of structures that the model keeps in words of 32 bits, from `first` on.
    static uint32_t field(const uint64_t* model, unsigned first, unsigned offset, unsigned width) {
        const uint64_t* word = model + first + offset / 32;
        const uint64_t high = offset % 32 + width > 32 ? word[1] : 0;
        return uint32_t((word[0] | high << 32) >> offset % 32 & ((1ull << width) - 1));
    }
    static void put(uint64_t* model, unsigned first, unsigned offset, unsigned width, uint64_t value) {
        for (unsigned i = 0; i < width; i += 32 - (offset + i) % 32) {
            uint64_t& word = model[first + (offset + i) / 32];
            const unsigned at = (offset + i) % 32, count = width - i < 32 - at ? width - i : 32 - at;
            const uint64_t mask = ((1ull << count) - 1) << at;
            word = (word & ~mask) | ((value >> i << at) & mask);
        }
    }

    void give_ready(uint64_t* model) const {
        put(model, CORE_READY, READY_VALID, 1, ready.valid);
        put(model, CORE_READY, READY_PC, 32, ready.pc);
        put(model, CORE_READY, READY_WORD, 32, ready.word);
        put(model, CORE_READY, READY_FAULT, 3, 0);
    }

    void give_issued(uint64_t* model) const {
        const CoreAction action = CoreDecoder::decode(issued.word);
        model[CORE_SHIFTED] = core_shift(issued.a, issued.b, action.arithmetic).result;
        put(model, CORE_ISSUED, ISSUED_VALID, 1, issued_valid);
        put(model, CORE_ISSUED, ISSUED_PC, 32, issued.pc);
        put(model, CORE_ISSUED, ISSUED_WORD, 32, issued.word);
        put(model, CORE_ISSUED, ISSUED_FAULT, 3, 0);
        put(model, CORE_ISSUED, ISSUED_SOUND, 1, 1);
        put(model, CORE_ISSUED, ISSUED_UNDEFINED, 1, 0);
        put(model, CORE_ISSUED, ISSUED_UNIT, 3, unsigned(action.unit));
        put(model, CORE_ISSUED, ISSUED_OP, 3, action.op);
        put(model, CORE_ISSUED, ISSUED_ARITHMETIC, 1, action.arithmetic);
        put(model, CORE_ISSUED, ISSUED_FUNCTION, 2, action.function);
        put(model, CORE_ISSUED, ISSUED_COND, 4, action.cond);
        put(model, CORE_ISSUED, ISSUED_GUARDED, 1, action.guarded);
        put(model, CORE_ISSUED, ISSUED_FLAGS, 1, action.flags);
        put(model, CORE_ISSUED, ISSUED_CLEAR_CARRY, 1, action.clear_carry);
        put(model, CORE_ISSUED, ISSUED_RD, 5, action.rd);
        put(model, CORE_ISSUED, ISSUED_BASE, 5, action.base);
        put(model, CORE_ISSUED, ISSUED_MEMORY, 1, action.memory);
        put(model, CORE_ISSUED, ISSUED_STORE, 1, action.store);
        put(model, CORE_ISSUED, ISSUED_PRE, 1, action.pre);
        put(model, CORE_ISSUED, ISSUED_UPDATE, 1, action.update);
        put(model, CORE_ISSUED, ISSUED_SIZE, 2, unsigned(action.size));
        put(model, CORE_ISSUED, ISSUED_SIGNED, 1, action.is_signed);
        put(model, CORE_ISSUED, ISSUED_A, 32, issued.a);
        put(model, CORE_ISSUED, ISSUED_B, 32, issued.b);
        put(model, CORE_ISSUED, ISSUED_D, 32, issued.d);
        put(model, CORE_ISSUED, ISSUED_HOLDS, 1, issued.holds);
        put(model, CORE_ISSUED, ISSUED_PASSES, 1, issued.passes);
        put(model, CORE_ISSUED, ISSUED_START, 1, issued.start);
    }
};
