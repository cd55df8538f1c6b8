// One slot of a Verilated model. Its header declares `specialized_alone` and `evaluate`.
#pragma once

// Verilator's spelling of Amaranth's port `bundle__name`.
#define PORT(bundle, name) bundle##___05F##name

// A model whose clock is left high can be told that it was low: one evaluation a slot instead of two. Not in every
// Verilator.
template <class Root>
auto rearm(Root* root, int) -> decltype(root->__Vtrigprevexpr___TOP__clk__0, bool()) {
    root->__Vtrigprevexpr___TOP__clk__0 = 0;
    return true;
}
template <class Root>
bool rearm(Root*, long) {
    return false;
}

struct NoClocks {
    template <class Model>
    bool specialized(Model& model) const { return specialized_alone(model); }
    template <class Model>
    bool rearm(Model&) const { return true; }
    template <class Model>
    void fall(Model&) const {}
    template <class Model>
    void rise(Model&) const {}
};

// One slot of a model that `eval` has begun. `others`: clocks that rise with that of the model.
template <class Model, class Clocks = NoClocks>
void tick(Model& model, const Clocks& others = {}) {
    if (others.specialized(model)) return;
    if (VM_TRACE || !rearm(model.rootp, 0) || !others.rearm(model)) {
        model.clk = 0;
        others.fall(model);
        evaluate(model);
    }
    others.rise(model);
    model.clk = 1;
    evaluate(model);
}
