import { describe, expect, it } from "vitest";
import { decode } from "../codecs/formats.ts";
import { approvalsOf, grantsCall } from "./units.ts";

const item = (native: object) => decode([native], "openai-responses")[0]!;

describe("approvals", () => {
  const asked = item({ type: "mcp_approval_request", id: "mcpr_1", name: "pay", arguments: "{}" });
  const granted = item({ type: "mcp_approval_response", approval_request_id: "mcpr_1", approve: true });
  const refused = item({ type: "mcp_approval_response", approval_request_id: "mcpr_1", approve: false });

  it("are asked for and answered under one id", () => {
    expect(approvalsOf(asked)).toEqual({ asked: ["mcpr_1"], answered: [] });
    expect(approvalsOf(granted)).toEqual({ asked: [], answered: ["mcpr_1"] });
    expect(approvalsOf(refused)).toEqual({ asked: [], answered: ["mcpr_1"] });
  });

  it("let the provider call its tool only where one is granted", () => {
    expect([asked, granted, refused].map(grantsCall)).toEqual([false, true, false]);
    expect(grantsCall(item({ type: "function_call_output", call_id: "c", output: "", approve: true }))).toBe(
      false,
    );
  });

  it("stand in the data of the provider in the SDK's own items", () => {
    const native = { type: "hosted_tool_call", name: "mcp_approval_response", providerData: granted.native };
    const [inSdk] = decode([native], "openai-agents");
    expect(approvalsOf(inSdk!)).toEqual({ asked: [], answered: ["mcpr_1"] });
    expect(grantsCall(inSdk!)).toBe(true);
  });
});
