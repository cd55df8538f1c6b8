// Stand-ins for the Verilated models: the same ports, and a few lines of C++ that keep the engine's threads busy. What
// they do depends on every input of every slot, and on nothing else.
#pragma once
#include <verilated.h>
#include <verilated_save.h>

struct Vlanai_nic___024root {
    CData clk = 0, irq = 0, idle = 0, wake_armed = 0;
    CData link_tx___05Fkind = 0, link_tx___05Fstop = 0, link_rx___05Fkind = 0, link_rx___05Fstop = 0;
    CData mem___05Fvalid = 0, mem___05Fwrite = 0, mem___05Fbe = 0, mem___05Fready = 0, mem___05Frvalid = 0,
          mem___05Frerror = 0;
    CData pio___05Fvalid = 0, pio___05Fwrite = 0, pio___05Fbe = 0, pio___05Fready = 1, pio___05Frvalid = 0;
    SData mem___05Fburst = 1;
    IData link_tx___05Fdata = 0, link_rx___05Fdata = 0, mem___05Faddr = 0, mem___05Fwdata = 0, mem___05Frdata = 0;
    IData pio___05Faddr = 0, pio___05Fwdata = 0, pio___05Frdata = 0, wake_cycle = 0;
    QData left_out = 0;
    IData lanai_nic__DOT__nic__DOT__sram__DOT__sram__DOT__mem[64] = {};

    uint64_t now = 0, heard = 1, busy = 20;  // slots done, digest of inputs, slots of work that are left

    void mix(uint64_t word) {
        heard = (heard ^ word) * 0x9E3779B97F4A7C15ull;
        heard ^= heard >> 29;
    }
    void edge() {
        now += 1 + left_out;
        uint64_t inputs = link_rx___05Fkind | link_tx___05Fstop << 8 | mem___05Frvalid << 9 | pio___05Fvalid << 10;
        if (inputs) mix(inputs ^ uint64_t(link_rx___05Fdata) << 32 ^ mem___05Frdata ^ pio___05Fwdata ^ now << 16);
        if (wake_armed && now >= 2 * uint64_t(wake_cycle)) busy = 8 + heard % 32;
        wake_armed = 0;
        bool works = busy > 0;
        if (works) mix(busy--);
        bool sends = works && !link_tx___05Fstop && heard % 4;
        link_tx___05Fkind = sends ? (heard % 4 == 1 ? 1 : heard % 4 == 2 ? 2 : 3) : 0;
        link_tx___05Fdata = sends ? IData(heard >> 8) : 0;
        link_rx___05Fstop = link_rx___05Fkind && heard % 16 < 3;
        mem___05Fvalid = works && heard >> 20 & 1;
        mem___05Fwrite = heard >> 21 & 1;
        mem___05Faddr = IData(heard >> 24) & 0xFFC;
        mem___05Fwdata = IData(heard >> 32);
        mem___05Fbe = 15;
        pio___05Frvalid = pio___05Fvalid && !pio___05Fwrite;
        irq = works && heard >> 40 % 32 == 0;
        if (!busy) {
            wake_armed = 1;
            wake_cycle = IData(now / 2 + 10 + heard % 100);
        }
        idle = !works && !inputs && !mem___05Fvalid;
    }
};
inline void Vlanai_nic___024root___eval(Vlanai_nic___024root* root) {
    if (root->clk) root->edge();
}

struct Vlanai_switch___024root {
    CData clk = 0, idle = 0;
    CData tx___05F0___05Fkind = 0, tx___05F0___05Fstop = 0, rx___05F0___05Fkind = 0, rx___05F0___05Fstop = 0;
    CData tx___05F1___05Fkind = 0, tx___05F1___05Fstop = 0, rx___05F1___05Fkind = 0, rx___05F1___05Fstop = 0;
    IData tx___05F0___05Fdata = 0, rx___05F0___05Fdata = 0, tx___05F1___05Fdata = 0, rx___05F1___05Fdata = 0;
};
// What comes in at one port goes out of the other.
inline void Vlanai_switch___024root___eval(Vlanai_switch___024root* root) {
    if (!root->clk) return;
    auto& r = *root;
    r.tx___05F0___05Fkind = r.rx___05F1___05Fkind;
    r.tx___05F0___05Fdata = r.rx___05F1___05Fdata;
    r.tx___05F1___05Fkind = r.rx___05F0___05Fkind;
    r.tx___05F1___05Fdata = r.rx___05F0___05Fdata;
    r.rx___05F0___05Fstop = r.tx___05F1___05Fstop;
    r.rx___05F1___05Fstop = r.tx___05F0___05Fstop;
    r.idle = !(r.tx___05F0___05Fkind | r.tx___05F1___05Fkind | r.rx___05F0___05Fstop | r.rx___05F1___05Fstop);
}

// A model as Verilator makes it, as far as the engine uses it.
template <class Root>
struct StandIn : Root {
    Root* rootp = this;
    explicit StandIn(VerilatedContext* context) : context_(context) {}
    VerilatedContext* contextp() const { return context_; }
    void eval() {}

  private:
    VerilatedContext* context_;
};
template <class Root>
VerilatedSerialize& operator<<(VerilatedSerialize& to, StandIn<Root>& model) {
    return to.write(static_cast<Root*>(&model), sizeof(Root));
}
template <class Root>
VerilatedDeserialize& operator>>(VerilatedDeserialize& from, StandIn<Root>& model) {
    return from.read(static_cast<Root*>(&model), sizeof(Root));
}
using Vlanai_nic = StandIn<Vlanai_nic___024root>;
using Vlanai_switch = StandIn<Vlanai_switch___024root>;
