// The connection to Python: slider values and dragged frames are sent, poses are received, and updates by long polling
// when Python shows something else. One request is active at a time; of waiting requests only the last is sent.

const RETRY_MS = 2000; // after which a lost server is contacted again

export class Live {
  // `handlers` are reply(actor, answer, path), new_scene(scene) and note(text)
  constructor(base, handlers) {
    this.base = base.endsWith("/") ? base : `${base}/`;
    this.handlers = handlers;
    this.busy = false;
    this.waiting = null;
    this.number = 0;
  }

  pose(actor, values) {
    this.request("pose", { actor, values });
  }

  drag(actor, handle, pose, values) {
    this.request("drag", { actor, handle, pose, values });
  }

  async request(path, body) {
    if (this.busy) {
      this.waiting = [path, body];
      return;
    }
    this.busy = true;
    try {
      this.handlers.reply(body.actor, await this.post(path, body), path);
    } catch (error) {
      this.handlers.note(message_of(error));
    }
    this.busy = false;
    if (this.waiting) {
      const next = this.waiting;
      this.waiting = null;
      this.request(...next);
    }
  }

  async post(path, body) {
    const headers = { "Content-Type": "application/json" };
    return answer_of(await fetch(this.base + path, { method: "POST", headers, body: JSON.stringify(body) }));
  }

  // request updates forever; the server delays its reply until there is one
  async listen() {
    for (let lost = false; ;) {
      try {
        const update = await answer_of(await fetch(`${this.base}updates?after=${this.number}`));
        await this.take(update);
        if (lost) this.handlers.note("");
        lost = false;
      } catch (error) {
        lost = true;
        this.handlers.note(message_of(error));
        await new Promise((done) => setTimeout(done, RETRY_MS));
      }
    }
  }

  async take(update) {
    if (update.scene && update.number !== this.number) {
      this.handlers.new_scene(await answer_of(await fetch(`${this.base}scene`)));
    }
    this.number = update.number;
    const actors = new Set([...Object.keys(update.poses ?? {}), ...Object.keys(update.values ?? {})]);
    for (const actor of actors) {
      const answer = { poses: update.poses?.[actor], values: update.values?.[actor], note: update.note ?? "" };
      this.handlers.reply(Number(actor), answer, "updates");
    }
  }
}

async function answer_of(response) {
  const text = await response.text();
  let answer = null;
  try {
    answer = JSON.parse(text);
  } catch {
    throw new Error(`Python sent an invalid reply with status ${response.status}.`);
  }
  if (!response.ok) throw new Error(answer.note || answer.error || `Python replied with status ${response.status}.`);
  return answer;
}

function message_of(error) {
  return error instanceof TypeError ? "Python no longer answers; the page shows the last state." : error.message;
}
