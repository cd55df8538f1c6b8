// Recorded inputs of a NIC through Verilator's model of the gateware as it is synthesized: a digest of all outputs of
// all slots, as native/replay.h makes it.
#include "Vlanai_nic.h"

#include "declared.h"

// Verilator's spelling of Amaranth's port `bundle__name`.
#define PORT(bundle, name) m.bundle##___05F##name

static uint64_t mixed(uint64_t value, uint64_t word) {
    value = (value ^ word) * 0x9E3779B97F4A7C15ull;
    return value ^ value >> 29;
}

static uint64_t digested(uint64_t value, const Vlanai_nic& m) {
    value = mixed(value, uint64_t(PORT(link_tx, kind)) | uint64_t(PORT(link_rx, stop)) << 8 | uint64_t(m.irq) << 9 |
                             uint64_t(m.idle) << 10 | uint64_t(m.wake_armed) << 11 | uint64_t(PORT(pio, ready)) << 12 |
                             uint64_t(PORT(pio, rvalid)) << 13 | uint64_t(PORT(mem, valid)) << 14 |
                             uint64_t(PORT(mem, write)) << 15 | uint64_t(PORT(mem, be)) << 16 |
                             uint64_t(PORT(mem, burst)) << 32);
    value = mixed(value, uint64_t(PORT(link_tx, data)) << 32 | PORT(pio, rdata));
    value = mixed(value, uint64_t(PORT(mem, addr)) << 32 | PORT(mem, wdata));
    return mixed(value, m.wake_cycle);
}

static void drive(Vlanai_nic& m, const NicInputs& in) {
    m.left_out = in.left_out;
    PORT(link_rx, data) = in.rx_data;
    PORT(link_rx, kind) = in.rx_kind;
    PORT(link_tx, stop) = in.tx_stop;
    PORT(mem, ready) = in.mem_ready;
    PORT(mem, rvalid) = in.mem_rvalid;
    PORT(mem, rdata) = in.mem_rdata;
    PORT(mem, rerror) = in.mem_rerror;
    PORT(pio, valid) = in.pio_valid;
    PORT(pio, write) = in.pio_write;
    PORT(pio, addr) = in.pio_addr;
    PORT(pio, wdata) = in.pio_wdata;
    PORT(pio, be) = in.pio_be;
}

// The gateware sees inputs in the slot they are of, so each edge takes those of the slot before.
extern "C" __attribute__((visibility("default"))) uint64_t witness_replay(const NicInputs* inputs, uint64_t slots) {
    VerilatedContext context;
    Vlanai_nic m(&context);
    NicInputs present{0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0};
    uint64_t value = 0xCBF29CE484222325ull;
    m.rst = 1;
    drive(m, present);
    m.clk = 0;
    m.eval();
    for (uint64_t slot = 0; slot < slots; slot++) {
        drive(m, present);
        m.clk = 0;
        m.eval();
        m.clk = 1;
        m.eval();
        m.rst = 0;
        present = inputs[slot];
        value = digested(value, m);
    }
    return value;
}
