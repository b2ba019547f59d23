import { expect, test } from "vitest";
import type { Who } from "../api/types.gen";
import { Gate } from "./gate";

const reader: Who = { name: "ann", scopes: ["read"], projects: null, login: true };

test("it is locked once, however many questions are refused", () => {
  const gate = new Gate();
  let told = 0;
  gate.subscribe(() => (told += 1));
  gate.lock();
  gate.lock();
  expect([gate.locked, told]).toEqual([true, 1]);
  gate.open(reader);
  expect([gate.locked, told, gate.who]).toEqual([false, 2, reader]);
});

test("an admin may do everything, others what they were given, and strangers nothing", () => {
  const gate = new Gate();
  expect(gate.may("read")).toBe(false);
  gate.open(reader);
  expect([gate.may("read"), gate.may("admin")]).toEqual([true, false]);
  gate.open({ ...reader, scopes: ["admin"] });
  expect([gate.may("write"), gate.may("admin")]).toEqual([true, true]);
  gate.lock();
  expect(gate.may("read")).toBe(false);
});
