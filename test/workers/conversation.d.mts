export declare function conversation(
  turns: number,
): { readonly role: "user" | "assistant"; readonly content: string }[];
