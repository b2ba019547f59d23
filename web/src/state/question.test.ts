import { expect, test } from "vitest";
import type { Message } from "../api/types.gen";
import { task } from "./fixtures";
import { questionOf } from "./question";

const refs = [{ protocol: "a2a", kind: "task", value: "1", scope: "a" }];
const said = (blocks: unknown[], role = "agent") => ({ role, blocks }) as Message;
const SCHEMA = { type: "object", properties: { amount: { type: "number" } } };

test("nobody is asked while a task works, and only agents that can be answered ask", () => {
  expect(questionOf(task("t", null, { refs }), [])).toBeNull();
  expect(questionOf(task("t", null, { refs: [], status: "input-required" }), [])).toBeNull();
});

test("the form is the message's own, else that of a part of the last message, else there is none", () => {
  const waiting = task("t", null, { refs, status: "input-required" });
  const part = said([{ type: "text", text: "How much?" }, { type: "data", data: {}, metadata: { schema: SCHEMA } }]);
  expect(questionOf({ ...waiting, native: { question: { schema: SCHEMA } } }, [])?.schema).toEqual(SCHEMA);
  expect(questionOf(waiting, [part, said([{ type: "text", text: "hm" }], "user")])?.schema).toEqual(SCHEMA);
  expect(questionOf(waiting, [part, said([{ type: "text", text: "or in words?" }])])).toEqual({ kind: "input", schema: null, links: [] });
});

test("a login shows plain web addresses and takes nothing", () => {
  const waiting = task("t", null, { refs, status: "auth-required", native: { question: { url: "https://login.example/x?a=1" } } });
  const found = questionOf(waiting, [said([{ type: "text", text: "Go to https://login.example/y or javascript:alert(1)" }])]);
  expect(found).toEqual({ kind: "login", schema: null, links: ["https://login.example/y", "https://login.example/x?a=1"] });
});
