// The line to Python: joints that were set and frames that were dragged go there, poses come back; and news, whenever
// Python shows something else. One question is under way at a time; of those that wait, only the last is sent.

const AGAIN = 2000; // milliseconds until a silent server is asked again

export class Live {
  // `hear` has answered(actor, answer, asked), new_scene(scene) and told(note)
  constructor(base, hear) {
    this.base = base.endsWith("/") ? base : `${base}/`;
    this.hear = hear;
    this.busy = false;
    this.waiting = null;
    this.number = 0;
  }

  pose(actor, values) {
    this.ask("pose", { actor, values });
  }

  drag(actor, handle, pose, values) {
    this.ask("drag", { actor, handle, pose, values });
  }

  async ask(path, question) {
    if (this.busy) {
      this.waiting = [path, question];
      return;
    }
    this.busy = true;
    try {
      this.hear.answered(question.actor, await this.post(path, question), path);
    } catch (error) {
      this.hear.told(sentence(error));
    }
    this.busy = false;
    if (this.waiting) {
      const next = this.waiting;
      this.waiting = null;
      this.ask(...next);
    }
  }

  async post(path, question) {
    const headers = { "Content-Type": "application/json" };
    return answer_of(await fetch(this.base + path, { method: "POST", headers, body: JSON.stringify(question) }));
  }

  // ask for news for ever; the server holds the question until there are some
  async listen() {
    for (let lost = false; ;) {
      try {
        const news = answer_of(await fetch(`${this.base}updates?after=${this.number}`));
        await this.take(await news);
        if (lost) this.hear.told("");
        lost = false;
      } catch (error) {
        lost = true;
        this.hear.told(sentence(error));
        await new Promise((done) => setTimeout(done, AGAIN));
      }
    }
  }

  async take(news) {
    if (news.scene && news.number !== this.number) {
      this.hear.new_scene(await answer_of(await fetch(`${this.base}scene`)));
    }
    this.number = news.number;
    const actors = new Set([...Object.keys(news.poses ?? {}), ...Object.keys(news.values ?? {})]);
    for (const actor of actors) {
      const answer = { poses: news.poses?.[actor], values: news.values?.[actor], note: news.note ?? "" };
      this.hear.answered(Number(actor), answer, "news");
    }
  }
}

async function answer_of(response) {
  const text = await response.text();
  let found = null;
  try {
    found = JSON.parse(text);
  } catch {
    throw new Error(`Python answered ${response.status}, which the page does not understand.`);
  }
  if (!response.ok) throw new Error(found.note || found.error || `Python answered ${response.status}.`);
  return found;
}

function sentence(error) {
  return error instanceof TypeError ? "Python no longer answers; the page shows what it showed last." : error.message;
}
