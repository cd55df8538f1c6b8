// Stand-ins for models: a few lines of C++ that keep the engine's threads busy. What they do depends on every input of
// every slot, and on nothing else.
#pragma once
#include "nic_unit.h"
#include "switch_unit.h"

struct NicState {
    uint64_t now, heard, busy;  // slots done, digest of inputs, slots of work that are left
};

inline uint64_t mixed(uint64_t digest, uint64_t word) {
    digest = (digest ^ word) * 0x9E3779B97F4A7C15ull;
    return digest ^ digest >> 29;
}

inline void nic_show(const void*, const void*, void* outputs, void*, void*) {
    static_cast<NicOutputs*>(outputs)->mem_burst = 1;
}
inline void nic_step(const void* state, const void* inputs, void* outputs, void* next, void*) {
    const NicInputs& in = *static_cast<const NicInputs*>(inputs);
    NicOutputs& out = *static_cast<NicOutputs*>(outputs);
    NicState now = *static_cast<const NicState*>(state);
    now.now += 1 + in.left_out;
    const uint64_t asks = in.rx_kind | in.tx_stop << 8 | in.mem_rvalid << 9 | in.pio_valid << 10;
    const uint64_t data = uint64_t(in.rx_data) << 32 ^ in.mem_rdata ^ in.pio_wdata;
    if (asks) now.heard = mixed(now.heard, asks ^ data ^ now.now << 16);
    if (out.wake_armed && now.now >= 2 * uint64_t(out.wake_cycle)) now.busy = 8 + now.heard % 32;
    out.wake_armed = 0;
    const bool works = now.busy > 0;
    if (works) now.heard = mixed(now.heard, now.busy--);
    const uint64_t heard = now.heard;
    const bool sends = works && !in.tx_stop && heard % 4;
    out.tx_kind = sends ? uint8_t(heard % 4) : 0;
    out.tx_data = sends ? uint32_t(heard >> 8) : 0;
    out.rx_stop = in.rx_kind && heard % 16 < 3;
    out.mem_valid = works && (heard >> 20 & 1);
    out.mem_write = heard >> 21 & 1;
    out.mem_addr = uint32_t(heard >> 24) & 0xFFC;
    out.mem_wdata = uint32_t(heard >> 32);
    out.mem_be = 15;
    out.mem_burst = 1;
    out.pio_ready = 1;
    out.pio_rvalid = in.pio_valid && !in.pio_write;
    out.irq = works && heard >> 40 % 32 == 0;
    if (!now.busy) {
        out.wake_armed = 1;
        out.wake_cycle = uint32_t(now.now / 2 + 10 + heard % 100);
    }
    out.idle = !works && !asks && !out.mem_valid;
    *static_cast<NicState*>(next) = now;
}

// What comes in at one port goes out of the other. The ports' places are those of switch_unit.h.
inline void switch_show(const void*, const void*, void*, void*, void*) {}
inline void switch_step(const void*, const void* inputs, void* outputs, void*, void*) {
    const auto* in = static_cast<const uint8_t*>(inputs);
    auto* out = static_cast<uint8_t*>(outputs);
    memcpy(out, in + 4, 4);
    memcpy(out + 4, in, 4);
    out[8] = in[9];
    out[9] = in[8];
    out[10] = in[11];
    out[11] = in[10];
    out[12] = !(out[8] | out[9] | out[10] | out[11]);
}

inline const GatesTable& nic_table() {
    alignas(64) static NicState state[3] = {{0, 1, 20}, {}, {}};
    alignas(64) static uint8_t store[64] = {};
    static GatesTable table{};
    table.step = reinterpret_cast<uint64_t>(nic_step);
    table.show = reinterpret_cast<uint64_t>(nic_show);
    table.state = reinterpret_cast<uint64_t>(state);
    table.store = reinterpret_cast<uint64_t>(store);
    table.state_bytes = table.store_bytes = table.outputs_bytes = 64;
    table.sram_words = 64;
    return table;
}
inline const GatesTable& switch_table() {
    static GatesTable table = nic_table();
    table.step = reinterpret_cast<uint64_t>(switch_step);
    table.show = reinterpret_cast<uint64_t>(switch_show);
    table.inputs_bytes = 64;
    table.ports = 2;
    table.idle = 12;
    return table;
}
