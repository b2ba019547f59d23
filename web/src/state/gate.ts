/** Whether the server wants to know who asks, and who that is. The login itself is a cookie that no script can read. */
import type { Who } from "../api/types.gen";
import { Observable } from "./store";

export class Gate extends Observable {
  locked = false;
  who: Who | null = null;

  lock(): void {
    if (!this.locked) this.set(true, null);
  }

  open(who: Who): void {
    this.set(false, who);
  }

  may(scope: Who["scopes"][number]): boolean {
    return this.who !== null && (this.who.scopes.includes("admin") || this.who.scopes.includes(scope));
  }

  private set(locked: boolean, who: Who | null): void {
    this.locked = locked;
    this.who = who;
    this.touched();
  }
}

export const gate = new Gate();
