// What History had searched for, so that coming back from a record finds it as it was left.

class Memory {
  text = $state("");
  state = $state("");
  destination = $state("");
  days = $state(0);
  selected = $state<string | null>(null);
}

export const memory = new Memory();
