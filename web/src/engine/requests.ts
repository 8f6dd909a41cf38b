/** Requests to a worker and the replies to them, told apart by their numbers: a late reply never answers another request. */

interface Waiting<Reply> {
  resolve: (reply: Reply) => void;
  reject: (error: Error) => void;
}

export class Requests<Reply> {
  private last = 0;
  private readonly waiting = new Map<number, Waiting<Reply>>();
  private broken: Error | null = null;

  /** Send a request under a new number; resolves to the reply to it. */
  ask(send: (request: number) => void): Promise<Reply> {
    if (this.broken) return Promise.reject(this.broken);
    const request = ++this.last;
    return new Promise((resolve, reject) => {
      this.waiting.set(request, { resolve, reject });
      send(request);
    });
  }

  /** The reply to a request; one that nobody waits for is ignored. */
  resolve(request: number, reply: Reply): void {
    this.waiting.get(request)?.resolve(reply);
    this.waiting.delete(request);
  }

  reject(request: number, error: Error): void {
    this.waiting.get(request)?.reject(error);
    this.waiting.delete(request);
  }

  /** The worker is gone: every request fails with this error, those that are still to come, too. */
  end(error: Error): void {
    this.broken ??= error;
    for (const request of [...this.waiting.keys()]) this.reject(request, error);
  }
}
