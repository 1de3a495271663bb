"""A step repeated in machine code: what carries thousands of states through thousands of steps in one call.

    march      the face: a step, what it carries, holds and is driven by, called on arrays
    horizon    the arguments of such a call, and what is wrong with them

The kernel is `emit.march`: samples outside, steps inside, the state in the block that the body of the step reads. How
to write a step that it takes well:

    what does not change        is held: it is brought once. Constants of the system belong in the tape.
    what is the same for all    robots (a clock, a torque over time) is driven without batch axes: it is read once and
                                spread, where arrays with a value for every robot are transposed.
    functions that exist        go in by `splice.inline(f.tape, ...)`: nothing is traced twice, and what the compiler
                                found for f alone is kept.
    stages of a method          may be written as a loop (`algebra.loops`), which `UNROLLED` unrolls. Each stage should
                                write a row of its own: a stage that writes over what it reads has to save it first.
    telling                     every `every`-th step costs memory, not arithmetic: 5 to 15 ns for two vectors of six.

Straight or in loops: steps of an arm (up to some 5,000 nodes, all stages counted) run equally fast, within five per
cent, and a loop over the stages of Runge and Kutta compiles in a third of the time. Beyond, straight code gains: at
34,000 nodes it is a quarter faster and takes 3.5 times as long to compile.
"""
