// Words of the editor, of snippets and of looking at files. Read through ../../words.

export const writing = {
  // Parts of a message
  parts: "Part of the message",
  partFormatted: "Formatted",
  partPlain: "Plain",
  replyFormatted: "Reply text, formatted",
  partsAgree: "The plain part says the same, for mail programs that show no formatting. It changes with what you write here.",
  noPlainPart: "This message has no plain part. Mail programs that show no formatting show the words of this one.",
  partsDiffer: "The two parts say different things. Each recipient sees one of them, most of them the formatted one.",
  textFromHtml: "Write the plain part from the formatted one",
  htmlFromText: "Write the formatted part from the plain one",
  htmlBeyond: "It has {what}, which can’t be edited here.",
  beyondPictures: "pictures",
  beyondTables: "tables",
  beyondStyles: "styles of its own",
  beyondElse: "other elements",
  htmlSimplify: "Make it simple and edit it",

  // Formatting
  formatting: "Formatting",
  linkTitle: "Where do these words lead?",
  linkSays: "The recipient sees the words. Where they lead is listed below the draft.",
  linkAddress: "Address",
  linkBad: "A whole address is needed, such as https://brackenhall.example or an email address.",
  linkAway: "Take the link away",
  linkSet: "Set the link",

  // Changes
  changesFromVersion: "{n, plural, =0 {No changes from version {version}} one {# change from version {version}} other {# changes from version {version}}}",
  changesFromWhat: "Changes from",
  theDraft: "The AI’s draft",
  theVersion: "Version {version}",
  changeHtmlAdded: "Formatted part added",
  changeFormatting: "Formatting",

  withChangesFrom: "With changes from version {version}",

  // Looking at files
  fileReading: "Reading the file…",
  fileOther: "What came back is not the file with this fingerprint, so it isn’t shown.",
  pdfPage: "Page {at, number} of {of, number}",
  pdfPageOf: "{name}, page {at, number}",
  pdfBefore: "Page before",
  pdfNext: "Next page",
  pdfBroken: "This PDF can’t be read. It may be damaged: look at it elsewhere before you approve it.",
  pdfLocked: "This PDF is protected with a password, so its pages can’t be shown here.",
  pdfSlow: "This PDF takes too long to draw, so we stopped. Look at it elsewhere before you approve it.",
  pdfDrawn: "Drawn here from the file with this fingerprint. Nothing in it was run or fetched; letters whose font isn’t in the file may look different or be missing.",

  // Snippets
  snippets: "Snippets",
  snippetsSay: "Texts you use again and again, of this workspace. What stands between braces is filled in when you insert one.",
  insertSnippet: "Snippet",
  insertIt: "Insert",
  findSnippet: "Find a snippet",
  noSnippets: "No snippets yet. Add one in Settings.",
  noSnippetFound: "No snippet has these words.",
  snippetFieldsSay: "A field that stays empty is marked in the draft and has to be filled before you approve.",
  snippetNamed: "Snippet: {name}",
  fieldFrom: "{kind}, from the conversation",
  fieldKind: { text: "Text", number: "Number", amount: "Amount", date: "Date", email: "Email address" },
  fieldNumberBad: "A number is expected, such as 4471.",
  fieldAmountBad: "An amount is expected, such as 45 € or 10 %.",
  fieldDateBad: "A day is expected, such as 16 May or Friday.",
  addSnippet: "Add a snippet",
  editNamed: "Edit {name}",
  removeNamed: "Remove {name}",
  snippetName: "Name",
  snippetText: "Text",
  snippetTextSays: "Write {place} where something is to be filled in. The customer’s name, address and numbers are taken from the conversation where it says them.",
  snippetFields: "What each field takes",
  snippetSaved: "Snippet saved.",
  snippetRemoveSays: "Drafts it was put into keep its words.",
  saveIt: "Save",

  // Places to be filled
  unfilled: "This place is still to be filled",

  // When it goes
  sendAtSet: "Set a time",
  sendAtLocal: "When it goes, as a clock there shows it",
  sendAtZone: "Time zone",
  sendAtWhich: "Which of the two?",
  sendAtFirst: "The first, UTC{offset}",
  sendAtSecond: "The second, UTC{offset}",
  sendAtDrop: "Drop the time: it goes once it is approved",
  sendAtHere: "{here} here, {utc} in UTC",
  sendAtPast: "That time has passed: it goes as soon as you approve.",
  sendAtBad: "A time is needed, such as {example}.",
  sendAtNoZone: "That time zone isn’t known here.",
  sendAtGap: "{time} doesn’t exist in {zone}: the clocks change then. Choose another time.",
  sendAtTwice: "That hour occurs twice in {zone}. Choose which one.",
  changeTime: "Another time",
  changeTimeSet: "Time set",
  changeTimeDropped: "Time dropped",
  approveLater: "Approve for later",
  saidScheduled: "Approved for later: {when}. Nothing has left yet.",
  quitLater: "{n, plural, one {# approved action has a time of its own. It goes then if Countersign is open. More than a quarter of an hour late it waits for you.} other {# approved actions have a time of their own. Each goes then if Countersign is open. More than a quarter of an hour late it waits for you.}}",

  // What stood in the way and no longer does
  saidSendingOn: "Sending is on.",
  saidUnlocked: "Your key is unlocked.",
  saidReachable: "All destinations can be reached again.",
  saidSendsHere: "Approved actions leave from here again.",

  // A limit that no tick takes away
  limitOpens: "{label}, can’t be approved yet. Read until when.",
  limitHolds: "{label}: it can’t be approved yet. Open it to read until when.",

  // Long work
  stopWaiting: "Stop waiting",
  exportRuns: "Writing the export…",
  searchRuns: "Searching…",
  backupRuns: "Copying the ledger, then checking the copy…",
  testRuns: "Testing the connection…",
  backupLeft: "We don’t wait for it any more. The copy may still be finished.",
} as const;
