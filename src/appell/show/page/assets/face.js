// What programs and tests see of the page, as `window.appell`. Places are pixels of the page, as a screenshot has them.

export function face(canvas, show, act, rate) {
  const { scene, stage, playback } = show, box = () => canvas.getBoundingClientRect();
  const pose = (poses, body) => Array.from(poses.subarray(7 * body, 7 * body + 7));
  return {
    ready: false,
    scene: {
      title: scene.title, span: scene.span, notes: scene.notes,
      actors: scene.actors.map((actor) => ({ name: actor.name, bodies: actor.bodies, parts: actor.parts.length })),
      triangles: stage.things.reduce((sum, thing) => sum + thing.batch.faces.length / 3, 0),
    },
    get time() { return playback.time; },
    get playing() { return playback.playing; },
    get still() { return show.still; }, // whether what is seen is there in full quality, and nothing moves
    get speed() { return playback.speed; },
    set speed(value) { act.speed(value); },
    seek: act.seek,
    play: act.play,
    pause: act.pause,
    show: act.show,
    fit: act.fit,
    look(azimuth, elevation) {
      Object.assign(stage.camera, { azimuth: azimuth * Math.PI / 180, elevation: elevation * Math.PI / 180 });
      stage.camera.turn();
      act.changed();
    },
    actors: stage.performers.map((performer) => ({
      name: performer.actor.name,
      get poses() { return performer.actor.bodies.map((_, body) => pose(performer.poses, body)); },
      get shown() { return performer.thing.shown; },
    })),
    frames_per_second: () => rate.now(),
    pick(x, y) {
      const found = stage.pick(x - box().left, y - box().top);
      return found ? `${found.actor ? found.actor.name : "scene"}/${found.part.name}` : null;
    },
    project(x, y, z) {
      const [left, top] = stage.camera.project([x, y, z]);
      return [left + box().left, top + box().top];
    },
    // where the frame that can be dragged is
    gizmo: () => (show.gizmo.thing.shown ? [...show.gizmo.pose] : null),
    // milliseconds that a moving picture takes to draw and to be there, the mean of several
    measure(frames) {
      const pixel = new Uint8Array(4), gl = stage.renderer.gl;
      const draw = () => { stage.draw(true); gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, pixel); };
      draw();
      const start = performance.now();
      for (let k = 0; k < frames; k++) {
        for (const performer of stage.performers) performer.at(playback.first + playback.length * k / frames);
        draw();
      }
      act.changed();
      return (performance.now() - start) / frames;
    },
  };
}
