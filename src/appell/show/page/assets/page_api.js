// The interface of the page for programs and tests, as `window.appell`. Positions are in pixels of the page.

export function page_api(canvas, show, act, rate, live) {
  const { scene, stage, playback } = show, box = () => canvas.getBoundingClientRect();
  const pose = (poses, body) => Array.from(poses.subarray(7 * body, 7 * body + 7));
  return {
    ready: false,
    scene: {
      title: scene.title, span: scene.span, notes: scene.notes,
      actors: scene.actors.map((actor) => ({ name: actor.name, bodies: actor.bodies, parts: actor.parts.length })),
      floor: stage.floor.paper ? null : stage.floor.height, // along the direction up, in m
      triangles: stage.things.reduce((sum, thing) => sum + thing.batch.faces.length / 3, 0),
    },
    get time() { return playback.time; },
    get playing() { return playback.playing; },
    get still() { return show.still; }, // whether the picture is drawn in full quality and nothing moves
    get reduced() { return stage.things.some((thing) => thing.coarse); }, // whether a picture had fewer triangles
    get speed() { return playback.speed; },
    set speed(value) { act.speed(value); },
    seek: act.seek,
    play: act.play,
    pause: act.pause,
    show: act.show,
    fit: act.fit,
    set_view(azimuth, elevation) { // in degrees
      Object.assign(stage.camera, { azimuth: azimuth * Math.PI / 180, elevation: elevation * Math.PI / 180 });
      stage.camera.update_axes();
      act.changed();
    },
    actors: stage.actor_views.map((actor_view) => ({
      name: actor_view.actor.name,
      get poses() { return actor_view.actor.bodies.map((_, body) => pose(actor_view.poses, body)); },
      get shown() { return actor_view.thing.shown; },
    })),
    frames_per_second: () => rate.now(),
    pick(x, y) {
      const hit = stage.pick(x - box().left, y - box().top);
      return hit ? `${hit.actor ? hit.actor.name : "scene"}/${hit.part.name}` : null;
    },
    project(x, y, z) {
      const [left, top] = stage.camera.project([x, y, z]);
      return [left + box().left, top + box().top];
    },
    simulation: live?.kernels ? live : null, // of a live page; see simulation.js
    // the pose of the frame that can be dragged, or null
    gizmo: () => (show.gizmo.thing.shown ? [...show.gizmo.pose] : null),
    // mean time in milliseconds to draw a frame of a motion
    measure(frames) {
      const pixel = new Uint8Array(4), gl = stage.renderer.gl;
      const draw = () => { stage.draw(true); gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, pixel); };
      draw();
      const start = performance.now();
      for (let k = 0; k < frames; k++) {
        for (const actor_view of stage.actor_views) actor_view.at(playback.first + playback.length * k / frames);
        draw();
      }
      act.changed();
      return (performance.now() - start) / frames;
    },
  };
}
