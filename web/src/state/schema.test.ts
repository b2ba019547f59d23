import { expect, test } from "vitest";
import { answerOf, fieldsOf } from "./schema";

const SCHEMA = {
  type: "object",
  required: ["amount", "asset"],
  properties: {
    amount: { type: "number", minimum: 1, maximum: 100, title: "Amount" },
    asset: { type: "string", enum: ["USDC", "ETH"] },
    days: { type: "integer", default: 3 },
    sure: { type: "boolean" },
    tags: { type: "array", items: { enum: ["a", "b"] } },
    owner: { $ref: "#/$defs/owner" },
    odd: { type: "array", items: { type: "object" } },
  },
  $defs: { owner: { type: "object", required: ["name"], properties: { name: { type: "string", maxLength: 5 }, note: { type: "string", format: "textarea" } } } },
};
const key = (...path: string[]) => JSON.stringify(path);

test("fields follow the schema, inner objects and references included", () => {
  expect(fieldsOf(SCHEMA).map((field) => `${field.title} ${field.kind}${field.required ? "!" : ""}`)).toEqual([
    "Amount number!", "asset choice!", "days integer", "sure boolean", "tags choices", "owner › name text", "owner › note long", "odd json",
  ]);
});

test("an answer has the types that the schema asks for, and leaves out what was left empty", () => {
  const filled = { [key("amount")]: "12.5", [key("asset")]: '"ETH"', [key("sure")]: true, [key("tags")]: ['"a"'], [key("owner", "name")]: "Ada", [key("odd")]: '[{"x": 1}]' };
  expect(answerOf(fieldsOf(SCHEMA), filled)).toEqual({ wrong: {}, value: { amount: 12.5, asset: "ETH", days: 3, sure: true, tags: ["a"], owner: { name: "Ada" }, odd: [{ x: 1 }] } });
});

test("what is wrong is said at its field", () => {
  const { wrong } = answerOf(fieldsOf(SCHEMA), { [key("amount")]: "1000", [key("days")]: "1.5", [key("owner", "name")]: "Adalbert", [key("odd")]: "[1" });
  expect(wrong).toEqual({
    [key("amount")]: "must be at most 100", [key("asset")]: "is needed", [key("days")]: "is no whole number",
    [key("owner", "name")]: "has more than 5 characters", [key("odd")]: "is no JSON",
  });
});

test("a schema that is no object is one field; one that says nothing takes any JSON", () => {
  expect(answerOf(fieldsOf({ type: "string" }), { "[]": "yes" }).value).toBe("yes");
  expect(answerOf(fieldsOf({}), { "[]": '{"a": 1}' }).value).toEqual({ a: 1 });
});

test("a hostile schema neither runs nor runs away", () => {
  const deep: Record<string, unknown> = { type: "object", properties: {} };
  deep.properties = { again: { $ref: "#" }, __proto__x: { type: "string", pattern: "(a+)+$" } };
  const many = { type: "object", properties: Object.fromEntries(Array.from({ length: 5000 }, (_, at) => [`f${at}`, { type: "string" }])) };
  expect(fieldsOf(deep).length).toBeLessThan(20);
  expect(fieldsOf(many).length).toBe(60);
  const proto = JSON.parse('{"type":"object","properties":{"__proto__":{"type":"string"}}}') as Record<string, unknown>;
  const { value } = answerOf(fieldsOf(proto), { [key("__proto__")]: "x" });
  expect(JSON.stringify(value)).toBe('{"__proto__":"x"}');
  expect(({} as Record<string, unknown>).x).toBeUndefined();
});
