// One processor core on a bench: SRAM, on-chip registers that are plain words, and a pattern of slots that others take.
// Python drives it through the C functions at the end (core_rtl.py); it compiles against the Verilated core.

#include <cstdint>
#include <memory>
#include <vector>

#include "Vlanai_core.h"
#include "retire_layout.h"  // RETIRE(name) for each field of the core's retire port: written by core_rtl.py
#include "verilated.h"

// Verilator spells the double underscore of a port `lbus__addr` this way.
#define PORT(group, name) top->group##___05F##name

struct Retired {
    uint64_t slot;
    uint32_t pc, word, result, moved, address, data;
    uint8_t rd, rd_we, base, base_we, access, store, padding[2];
};

struct Bench {
    VerilatedContext context;
    std::unique_ptr<Vlanai_core> top;
    std::vector<uint32_t> sram;
    uint32_t registers[1024] = {};
    std::vector<uint8_t> taken{0};
    std::vector<uint8_t> waits{0};
    uint64_t slot = 0;
    uint64_t lbus_slots = 0;

    explicit Bench(uint32_t words) : sram(words) {}

    void clock() {
        top->clk = 1;
        top->eval();
        top->clk = 0;
        top->eval();
    }

    // A new core each time: reset leaves the general registers as they were.
    void reset() {
        slot = 0;
        lbus_slots = 0;
        top = std::make_unique<Vlanai_core>(&context);
        top->run = 0;
        top->wait = 0;
        PORT(lbus, grant) = 0;
        top->rst = 1;
        clock();
        clock();
        top->rst = 0;
        top->run = 1;
        settle();
    }

    // The inputs of slot `slot`, all but the grant, which answers what the core then asks. Nothing it asks follows the
    // grant.
    void settle() {
        top->clk = 0;
        top->odd = slot & 1;
        top->wait = waits[slot % waits.size()];
        top->eval();
    }

    // One slot: what the core asks, what it gets, the clock edge, the answers.
    bool step(Retired *out) {
        const bool grant = PORT(lbus, request) && !taken[slot % taken.size()];
        const bool retired = sample(out);
        uint32_t rdata = PORT(lbus, rdata);
        if (grant) {
            lbus_slots++;
            access(rdata);
        }
        const uint32_t offset = PORT(regs, addr) >> 2 & 1023;
        const uint32_t found = PORT(regs, read) ? registers[offset] : PORT(regs, rdata);
        if (PORT(regs, write)) registers[offset] = PORT(regs, wdata);
        PORT(lbus, grant) = grant;
        top->clk = 1;
        top->eval();
        PORT(lbus, rdata) = rdata;
        PORT(regs, rdata) = found;
        slot++;
        settle();
        return retired;
    }

    void access(uint32_t &rdata) {
        const uint32_t index = PORT(lbus, addr) >> 2;
        const uint32_t old = index < sram.size() ? sram[index] : 0;
        if (!PORT(lbus, write)) {
            rdata = old;
            return;
        }
        uint32_t mask = 0;
        for (int lane = 0; lane < 4; lane++)
            if (PORT(lbus, be) >> lane & 1) mask |= 0xFFu << 8 * lane;
        if (index < sram.size()) sram[index] = (old & ~mask) | (PORT(lbus, wdata) & mask);
    }

    uint32_t field(int low, int width) const {
        uint64_t pair = top->retire[low / 32];
        if (low / 32 + 1 < RETIRE_WORDS) pair |= uint64_t(top->retire[low / 32 + 1]) << 32;
        return uint32_t(pair >> low % 32 & ((uint64_t(1) << width) - 1));
    }

    bool sample(Retired *out) const {
        if (!(top->retire[0] & 1)) return false;
        *out = {};
        out->slot = slot;
        out->pc = RETIRE(pc);
        out->word = RETIRE(word);
        out->result = RETIRE(result);
        out->moved = RETIRE(moved);
        out->address = RETIRE(address);
        out->data = RETIRE(data);
        out->rd = RETIRE(rd);
        out->rd_we = RETIRE(rd_we);
        out->base = RETIRE(base);
        out->base_we = RETIRE(base_we);
        out->access = RETIRE(access);
        out->store = RETIRE(store);
        return true;
    }
};

#define API extern "C" __attribute__((visibility("default")))

API Bench *core_new(uint32_t words) { return new Bench(words); }
API void core_delete(Bench *bench) { delete bench; }
API uint32_t *core_sram(Bench *bench) { return bench->sram.data(); }
API uint32_t *core_registers(Bench *bench) { return bench->registers; }
API void core_reset(Bench *bench) { bench->reset(); }
API void core_taken(Bench *bench, const uint8_t *pattern, uint32_t length) {
    bench->taken.assign(pattern, pattern + length);
}
API void core_waits(Bench *bench, const uint8_t *pattern, uint32_t length) {
    bench->waits.assign(pattern, pattern + length);
}
API uint64_t core_slot(const Bench *bench) { return bench->slot; }
API uint64_t core_lbus_slots(const Bench *bench) { return bench->lbus_slots; }
API uint64_t core_trap(const Bench *bench) { return bench->top->trap; }
API uint32_t core_idle(const Bench *bench) { return bench->top->idle; }

// Runs up to `slots` slots or until `room` records are full or the core traps; returns the number of records.
API uint32_t core_run(Bench *bench, uint64_t slots, Retired *records, uint32_t room) {
    uint32_t count = 0;
    for (uint64_t i = 0; i < slots && count < room && !(bench->top->trap & 1); i++)
        if (bench->step(&records[count])) count++;
    return count;
}
