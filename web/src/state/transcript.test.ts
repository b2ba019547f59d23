import { expect, test } from "vitest";
import type { Call, Message, Task } from "../api/types.gen";
import { longestLoop, readTranscript, toolSummary } from "./transcript";

function message(id: string, role: string, author: Message["author"], blocks: unknown[], call = "call_1"): Message {
  return { id, task: "t", call, role, author, author_id: null, author_kind: author === "harness" ? "reminder" : null, reason: "", blocks, timestamp: null };
}

const text = (words: string) => ({ type: "text", text: words });
const use = (id: string, name: string, input: unknown) => ({ type: "tool_use", id, name, input });
const result = (id: string, content: unknown, is_error = false) => ({ type: "tool_result", tool_use_id: id, content, is_error });
const child = (id: string, via: string) => ({ id, link: { via } }) as unknown as Task;
const call = (id: string, more: Partial<Call>) => ({ id, status: "ok", attempt_of: null, ...more }) as Call;

test("a sub-task that no tool call is known to have started stands where it began", () => {
  const said = (id: string, second: number) => ({ ...message(id, "assistant", "agent", [text(id)]), timestamp: `2026-05-01T10:00:0${second}.000000Z` });
  const stray = { id: "sub", link: { via: null }, opened: "2026-05-01T10:00:05.000000Z" } as unknown as Task;
  const items = readTranscript([said("before", 1), said("after", 9)], [], [stray]);
  expect(items.map((item) => (item.kind === "words" ? item.text : item.kind === "spawn" ? item.tool.child : item.kind))).toEqual(["before", "sub", "after"]);
});

test("is told in reading order, results beside their calls, sub-tasks where they were started", () => {
  const messages = [
    message("1", "user", "human", [text("Count the hats.")]),
    message("2", "assistant", "agent", [{ type: "thinking", thinking: "Two ways." }, text("I will."), use("u1", "Read", { path: "a" }), use("u2", "Agent", { prompt: "Look" })]),
    message("3", "user", "tool", [result("u1", "hats"), result("u2", "three")], "call_2"),
    message("4", "user", "harness", [text("<system-reminder>x</system-reminder>")], "call_2"),
    message("5", "assistant", "agent", [text("Three.")], "call_2"),
  ];
  const items = readTranscript(messages, [], [child("task_9", "u2")]);
  expect(items.map((item) => item.kind)).toEqual(["said", "thinking", "words", "tools", "spawn", "harness", "words"]);
  expect(items[3]).toMatchObject({ tools: [{ id: "u1", status: "ok", result: "hats" }] });
  expect(items[4]).toMatchObject({ tool: { child: "task_9", result: "three" } });
});

test("a prompt that an agent wrote is never a person's words, whatever its role", () => {
  const [item] = readTranscript([message("1", "user", "agent", [text("Look at the tests.")])], [], []);
  expect(item?.kind).toBe("prompt");
});

test("reasoning that was withheld is said to be withheld", () => {
  const [item] = readTranscript([message("1", "assistant", "agent", [{ type: "thinking", thinking: "" }])], [], []);
  expect(item).toMatchObject({ kind: "thinking", withheld: true });
});

test("a result stands only under the call whose id it names", () => {
  const items = readTranscript([message("1", "assistant", "agent", [use("u1", "Read", {})]), message("2", "user", "tool", [result("other", "x")])], [], []);
  expect(items).toMatchObject([{ tools: [{ status: "running", result: null }] }]);
});

test("tools that follow each other are one block, and the same one three times is a loop", () => {
  const again = [1, 2, 3].map((at) => use(`u${at}`, "Bash", { command: "ls" }));
  const [item] = readTranscript([message("1", "assistant", "agent", [...again, use("u4", "Read", {})])], [], []);
  expect(item).toMatchObject({ kind: "tools", loops: 3 });
  if (item?.kind === "tools") expect(toolSummary(item.tools)).toBe("Bash ×3, Read");
  expect(longestLoop([])).toBe(1);
});

test("attempts of one call are told once", () => {
  const calls = [call("call_1", { status: "error", http_status: 529 }), call("call_2", { attempt_of: "call_1" })];
  const items = readTranscript([message("1", "user", "human", [text("Hi.")])], calls, []);
  expect(items.filter((item) => item.kind === "trouble")).toMatchObject([{ retries: 1 }]);
});

test("only plain pictures are shown as pictures", () => {
  const picture = (media_type: string) => ({ type: "image", source: { type: "base64", media_type, data: "aGk=" } });
  const [item] = readTranscript([message("1", "user", "human", [text("See:"), picture("image/png"), picture("image/svg+xml"), { type: "image", source: { type: "url", url: "http://evil" } }])], [], []);
  expect(item).toMatchObject({ pictures: [{ type: "image/png", data: "aGk=" }] });
});
