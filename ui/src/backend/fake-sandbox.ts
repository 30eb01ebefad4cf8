// The pretend customers of the first run.

import { ago, email } from "./fake-data";

export function sandbox(): ReturnType<typeof email>[] {
  const pretend = (id: string, name: string, address: string, subject: string, theirs: string, ours: string) =>
    email(id, { name, email: address, subject, theirs, ours, minutes: 0 }, { environment: "sandbox", destination: "Sandbox", source: "Sandbox agent", draft: { source: "Sandbox agent", run_id: null, model: null, reason: null, at: ago(0) } });
  return [
    pretend("A-1", "Robin Sample", "robin@sample.example", "Do you repair chairs?", "Hello,\n\nI have four oak dining chairs with loose joints. Do you repair chairs, and roughly what would it cost?\n\nThank you,\nRobin", "Hello Robin,\n\nYes, we do. Regluing loose joints is usually 45 € a chair, and four chairs take about a week.\n\nCould you send two photos of the joints? Then I can give you a firm price.\n\nKind regards,\nYou"),
    pretend("A-2", "Alex Example", "alex@example.example", "Please change my delivery address", "Hello, I moved. Alex", "Hello Alex,\n\nI have changed the address. The next delivery comes to the new one on Monday.\n\nKind regards,\nYou"),
    pretend("A-3", "Kim Muster", "kim@muster.example", "Opening hours in December", "Are you open on the 24th? Kim", "Hello Kim,\n\nWe are open until noon on 24 December.\n\nKind regards,\nYou"),
  ];
}
