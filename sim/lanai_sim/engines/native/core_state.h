// The processor's registers outside the model, as lanai_hdl.core has them, and how the model keeps them.
//
// `CoreWord` in declared.h lists the words of a model by name.
#pragma once
#include <stdint.h>

#include "declared.h"

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
    uint64_t now, used_bit;  // used_bit: of the counter of slots in which the processor uses the bus

    static bool is_data(unsigned index) { return index > CORE_PC; }

    // What the access of the slot before has read, as it is loaded.
    uint32_t arrival() const { return lanes.pick(lanes.window ? value : rdata); }

    // From the registers of a model, in a slot in which the processor issues an instruction. False if something is
    // under way that is not known here.
    bool take(const uint64_t* model, uint64_t cpu_used) {
        if ((model[CORE_NOTED] | model[CORE_DUE]) & ~cpu_used) return false;
        used_bit = cpu_used;
        if (model[CORE_ACCESS_LOADED] && !model[CORE_ON_BUS]) return false;
        if (model[CORE_READY_FAULT] || model[CORE_FETCHED_FAULT]) return false;
        ready = {true, uint32_t(model[CORE_READY_PC]), uint32_t(model[CORE_READY_WORD])};
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
        model[CORE_NOTED] = noted ? used_bit : 0;
        model[CORE_DUE] = due ? used_bit : 0;
        model[CORE_USED] = used;
        model[CORE_NOW] = now;
    }

  private:
    static Result result(uint64_t word) { return {bool(word & 1), uint8_t(word >> 1 & 31), uint32_t(word >> 6)}; }
    static uint64_t bits(const Result& one) { return one.writes | one.index << 1 | uint64_t(one.value) << 6; }

    void give_ready(uint64_t* model) const {
        model[CORE_READY_VALID] = ready.valid;
        model[CORE_READY_PC] = ready.pc;
        model[CORE_READY_WORD] = ready.word;
        model[CORE_READY_FAULT] = 0;
    }

    void give_issued(uint64_t* model) const {
        const CoreAction action = CoreDecoder::decode(issued.word);
        model[CORE_SHIFTED] = core_shift(issued.a, issued.b, action.arithmetic).result;
        model[CORE_ISSUED_VALID] = issued_valid;
        model[CORE_ISSUED_PC] = issued.pc;
        model[CORE_ISSUED_WORD] = issued.word;
        model[CORE_ISSUED_FAULT] = 0;
        model[CORE_ISSUED_SOUND] = 1;
        model[CORE_ISSUED_UNDEFINED] = 0;
        model[CORE_ISSUED_UNIT] = unsigned(action.unit);
        model[CORE_ISSUED_OP] = action.op;
        model[CORE_ISSUED_ARITHMETIC] = action.arithmetic;
        model[CORE_ISSUED_FUNCTION] = action.function;
        model[CORE_ISSUED_COND] = action.cond;
        model[CORE_ISSUED_GUARDED] = action.guarded;
        model[CORE_ISSUED_FLAGS] = action.flags;
        model[CORE_ISSUED_CLEAR_CARRY] = action.clear_carry;
        model[CORE_ISSUED_RD] = action.rd;
        model[CORE_ISSUED_BASE] = action.base;
        model[CORE_ISSUED_MEMORY] = action.memory;
        model[CORE_ISSUED_STORE] = action.store;
        model[CORE_ISSUED_PRE] = action.pre;
        model[CORE_ISSUED_UPDATE] = action.update;
        model[CORE_ISSUED_SIZE] = unsigned(action.size);
        model[CORE_ISSUED_SIGNED] = action.is_signed;
        model[CORE_ISSUED_A] = issued.a;
        model[CORE_ISSUED_B] = issued.b;
        model[CORE_ISSUED_D] = issued.d;
        model[CORE_ISSUED_HOLDS] = issued.holds;
        model[CORE_ISSUED_PASSES] = issued.passes;
        model[CORE_ISSUED_START] = issued.start;
    }
};
