// Times of exported functions and of MuJoCo's WebAssembly, in Node.js or in a browser: see benchmarks/wasm.py.

export async function measure(base, mujoco_url, given) {
  const result = {};
  const started = performance.now();
  const { default: load } = await import(`${base}/panda_step.mjs`);
  const step = await load();
  fill(step.input, given.panda);
  step.run();
  result.first_step_ms = performance.now() - started; // with files from the server or the disk
  const content = Uint8Array.from(atob(given.panda_binary), (character) => character.charCodeAt(0));
  const times = [];
  for (let k = 0; k < 20; k++) {
    const binary = Uint8Array.of(...content, 0, 3, 1, 120, k); // with a custom section, so that no engine caches it
    const start = performance.now(), again = await load(binary);
    fill(again.input, given.panda);
    again.run();
    times.push(performance.now() - start);
    await again.ready;
  }
  result.first_step_from_memory_ms = { first: times[0], best: Math.min(...times) };
  const dynamics = await (await import(`${base}/panda_forward.mjs`)).default();
  const talos = await (await import(`${base}/talos_forward.mjs`)).default();
  await Promise.all([step, dynamics, talos].map((each) => each.ready));
  result.simd = dynamics.simd;
  fill(dynamics.input, { ...given.panda, tau: given.panda.torque });
  fill(talos.input, given.talos);
  result.agreement = {};

  const before = performance.now();
  const mujoco = await (await import(mujoco_url)).default();
  const peers = (name) => {
    const bare = given.mjcf[name];
    if (!bare.includes(given.disabled)) throw new Error("the options of MuJoCo are not those expected");
    return [peer(mujoco, bare.replace(given.disabled, "")), peer(mujoco, bare)];
  };
  const [mujoco_panda, bare_panda] = peers("panda");
  mujoco.mj_step(mujoco_panda.model, mujoco_panda.data);
  result.mujoco_first_step_ms = performance.now() - before;
  const [mujoco_talos, bare_talos] = peers("talos");

  // agreement: a thousand steps of the Panda, and accelerations of Talos
  const { model, data } = mujoco_panda;
  for (const each of [mujoco_panda, bare_panda]) {
    mujoco.mj_resetData(each.model, each.data);
    each.data.qpos.set(given.panda.q);
  }
  for (let k = 0; k < 200; k++) mujoco.mj_step(model, data);
  const end = step.rollout(given.panda, { steps: 200, every: 200 });
  result.agreement.panda_200_steps = largest(end.q, data.qpos);
  for (const each of [mujoco_talos, bare_talos]) {
    each.data.qpos.set(given.talos_qpos);
    each.data.qvel.set(given.talos_qvel);
  }
  mujoco.mj_forward(mujoco_talos.model, mujoco_talos.data);
  talos.run();
  const expected = given.talos_order.map((k) => talos.output.a[k]);
  const size = Math.max(...expected.map(Math.abs));
  result.agreement.talos_accelerations = largest(expected, mujoco_talos.data.qacc) / size;

  const { input, output, run } = step, many = 256;
  const batch_of = ({ input }) => Object.fromEntries(Object.entries(input).map(([name, values]) => {
    return [name, repeated(values, many)];
  }));
  const batch = batch_of(dynamics), talos_batch = batch_of(talos);
  const calls = {
    "panda step": [200, () => { run(); input.q.set(output.q); input.v.set(output.v); }],
    "panda step, mujoco": [40, () => mujoco.mj_step(model, data)],
    "panda step, mujoco bare": [40, () => mujoco.mj_step(bare_panda.model, bare_panda.data)],
    "panda step, in one call": [1, () => step.rollout(given.panda, { steps: 1000, every: 1000 }), 1000],
    "panda forward dynamics": [400, dynamics.run],
    "panda forward dynamics, mujoco": [40, () => mujoco.mj_forward(model, data)],
    "panda forward dynamics, mujoco bare": [40, () => mujoco.mj_forward(bare_panda.model, bare_panda.data)],
    "panda forward dynamics, batch": [4, () => dynamics.batch(batch), many],
    "talos forward dynamics": [40, talos.run],
    "talos forward dynamics, mujoco": [8, () => mujoco.mj_forward(mujoco_talos.model, mujoco_talos.data)],
    "talos forward dynamics, mujoco bare": [8, () => mujoco.mj_forward(bare_talos.model, bare_talos.data)],
    "talos forward dynamics, batch": [1, () => talos.batch(talos_batch), many],
  };
  const best = {};
  for (let round = 0; round < given.rounds; round++) {
    for (const [name, [count, call, samples = 1]] of Object.entries(calls)) {
      fill(step.input, given.panda);
      const start = performance.now();
      for (let k = 0; k < count * given.length; k++) call();
      const ns = 1e6 * (performance.now() - start) / (count * given.length * samples);
      best[name] = Math.min(best[name] ?? Infinity, ns);
    }
  }
  result.ns = best;
  const names = Object.keys(best).filter((name) => name.includes("mujoco"));
  result.ratios = Object.fromEntries(names.map((name) => [name, best[name] / best[name.split(", ")[0]]]));
  return result;
}

function fill(input, values) {
  for (const [name, value] of Object.entries(values)) if (input[name]) input[name].set([].concat(value));
}

function repeated(values, count) {
  return Float64Array.from({ length: values.length * count }, (_, k) => values[k % values.length]);
}

function largest(a, b) {
  return Math.max(...Array.from(a, (x, k) => Math.abs(x - b[k])));
}

function peer(mujoco, text) {
  const model = mujoco.MjModel.from_xml_string(text);
  return { model, data: new mujoco.MjData(model) };
}
