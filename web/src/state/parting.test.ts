import { describe, expect, test } from "vitest";
import { parting } from "./parting";

const nothing = { id: "conv_1", title: "", opened: null, active: null, tasks: 0, calls: 0, tool_calls: 0, events: 0, working: false, parted: [] };

describe("what goes with a conversation", () => {
  test("is counted in words", () => {
    expect(parting({ ...nothing, tasks: 3, calls: 1, tool_calls: 12 })).toContain("3 tasks, 1 model call and 12 tool calls go");
  });
  test("is said without figures where there are none", () => {
    expect(parting(nothing)).toContain("All that was seen of it go");
  });
  test("names those that lose a link", () => {
    expect(parting({ ...nothing, tasks: 1, parted: ["conv_2"] })).toContain("1 other conversation stays and loses the link");
    expect(parting({ ...nothing, tasks: 1, parted: ["conv_2", "conv_3"] })).toContain("2 other conversations stay and lose the link");
  });
});
