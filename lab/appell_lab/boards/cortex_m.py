"""Startup code and linker script of a Cortex-M: vector table, floating-point unit, memory map.

The boards are the MPS2 boards that qemu emulates, with code at 0 and data at 0x20000000, four megabytes each.
"""

STARTUP = """\
#include <stdint.h>

extern uint32_t stack_top;
extern void _start(void);
void reset(void);
void halt(void);

void reset(void)
{
    *(volatile uint32_t *)0xE000ED88 |= 0xFu << 20; /* enable the floating-point unit */
    __asm volatile("dsb\\n\\tisb");
    _start();
}

void halt(void)
{
    for (;;)
        continue;
}

typedef void (*vector)(void);
__attribute__((section(".vectors"), used)) static const struct {
    uint32_t *top;
    vector handlers[15];
} vectors = {&stack_top, {reset, halt, halt, halt, halt, halt, halt, halt, halt, halt, halt, halt, halt, halt, halt}};
"""

LINKER_SCRIPT = """\
ENTRY(reset)
MEMORY
{
    CODE (rx) : ORIGIN = 0x00000000, LENGTH = 4M
    DATA (rwx) : ORIGIN = 0x20000000, LENGTH = 4M
}
SECTIONS
{
    .text : { KEEP(*(.vectors)) *(.text*) KEEP(*(.init)) KEEP(*(.fini)) *(.rodata*) . = ALIGN(8); } > CODE
    .ARM.extab : { *(.ARM.extab*) } > CODE
    .ARM.exidx : { __exidx_start = .; *(.ARM.exidx*) __exidx_end = .; } > CODE
    .data : { *(.data*) . = ALIGN(8); } > DATA
    .bss : { __bss_start__ = .; *(.bss*) *(COMMON) . = ALIGN(8); __bss_end__ = .; } > DATA
    end = .;
    __end__ = .;
    stack_top = ORIGIN(DATA) + LENGTH(DATA);
    __stack = stack_top;
}
"""
