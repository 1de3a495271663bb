// Torques of an arm along a motion, one batch: tsc --target es2022 --module node16 torques.mts && node torques.mjs

import load, { type Kernel } from "./arm_torques.mjs";

const SAMPLES = 5;

function motion(count: number): { q: Float64Array; v: Float64Array; a: Float64Array } {
  const times = Array.from({ length: count }, (_, k) => k / (count - 1));
  const columns = (value: (t: number) => number[]): Float64Array => Float64Array.from(times.flatMap(value));
  return {
    q: columns((t) => [Math.sin(t), Math.cos(t)]),
    v: columns((t) => [Math.cos(t), -Math.sin(t)]),
    a: columns((t) => [-Math.sin(t), -Math.cos(t)]),
  };
}

const arm: Kernel = await load();
const { tau } = arm.batch(motion(SAMPLES));
const [{ name, shape }] = arm.outputs;
console.log(JSON.stringify({ name, shape, tau: Array.from(tau) }));
