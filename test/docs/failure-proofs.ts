/** A test that proves a promise: its file in test/, and its title. `…` stands for what the title fills in while it runs. */
export type Proof = readonly [file: string, title: string];

/** For each section of docs/failures.md, the tests that prove what it says. */
export const failureProofs: Readonly<Record<string, readonly Proof[]>> = {
  'The power went while it was sending': [
    ['e2e/daemon.test.ts', 'ends with each order once after kill -9 in mid-delivery and a restart'],
    ['store/store.test.ts', 'survives a power cut with what it committed: WAL, synchronous FULL'],
    ['torture/torture.test.ts', 'breaks no promise on fixed seeds with a … store: …'],
  ],
  'No answer came, or half of one': [
    ['outbound/deliver/deliver.test.ts', 'sends the same key and bytes again: no answer within the deadline'],
    ['service/wire/connections.test.ts', 'to the sandbox'],
  ],
  'Somebody stopped it in the middle': [
    ['e2e/daemon.test.ts', 'drains and exits 0 on SIGTERM, with no secret in its log'],
    ['e2e/standby.test.ts', 'end at once at the second SIGTERM, and the successor brings to an end what was under way'],
  ],
  'The service forgot our key': [
    [
      'outbound/deliver/deliver.test.ts',
      'does not send again what the service may have forgotten, but parks it for a person',
    ],
    ['outbound/deliver/deliver.test.ts', 'does not send again what the service forgets while it …'],
    [
      'outbound/deliver/deliver.test.ts',
      'does not send again what may be there while nothing says how long the service remembers a key',
    ],
    ['outbound/deliver/look-up.test.ts', 'binds what it finds, flagged, and makes nothing twice'],
    [
      'outbound/deliver/still-working.test.ts',
      'makes each order once, though a look-up at once finds none of those that take longer than the deadline',
    ],
    ['e2e/still-working.test.ts', 'makes each of … orders once, with a store on …'],
    ['cli/outbox.test.ts', 'records what a person found: the binding is written, and what waited for it goes on'],
  ],
  'The service was down all night': [
    [
      'outbound/deliver/long-outage.test.ts',
      '(…) parks none of … messages, is probed every … s at most, and is over within 10 s',
    ],
    [
      'e2e/outage.test.ts',
      'of 12 seconds with a kill in between parks nothing, is probed at its pace, and is over soon after the return',
    ],
  ],
  'The service said "come back at four"': [
    [
      'outbound/deliver/outage.test.ts',
      'that is to end at four lets nothing through until then, neither orders nor pulls, whoever restarts',
    ],
    ['outbound/deliver/pauses.test.ts', 'heeds 429 with Retry-After …: durably, at once, and at no message’s expense'],
  ],
  "The day's allowance is used up": [
    [
      'outbound/deliver/long-limits.test.ts',
      'counts across processes, pauses the lane until it allows more, and costs no message an attempt',
    ],
  ],
  'The token was revoked': [
    ['outbound/deliver/pauses.test.ts', 'pauses everything and alerts when the credential is not accepted'],
    ['e2e/bad-input.test.ts', 'stops at a wrong token, says so, and sends nothing more'],
    [
      'outbound/deliver/credential.test.ts',
      'tries a replaced token by one request, and goes on when the service takes it',
    ],
  ],
  'The access token expired, or its token endpoint is down': [
    [
      'service/credentials.test.ts',
      'expired with 16 requests in flight: one refresh, each record once, and no request sees two 401',
    ],
    [
      'outbound/deliver/credential.test.ts',
      'waits for a token endpoint that is down like for a service that is: no message is parked, and it goes on',
    ],
  ],
  'The service answers one record with a failure for ever': [
    [
      'outbound/deliver/kept-failure.test.ts',
      'is asked for a create that it made, and answers with a failure at each try',
    ],
    [
      'outbound/deliver/kept-failure.test.ts',
      'gets a create that it never made under its key only, then it waits for a person, whose word brings a new key (…)',
    ],
  ],
  'The service refused one record': [
    ['outbound/deliver/outage.test.ts', 'never holds up another, and its dependants say whom they wait for'],
    ['outbound/deliver/changes.test.ts', 'is tried again with the same key on a service that forgets refusals'],
    ['outbound/deliver/changes.test.ts', 'is tried again with a new key on a service that replays refusals'],
    ['cli/outbox.test.ts', 'makes a refused message due again with the same key and bytes, and says who and why'],
  ],
  'The service says success and means no': [
    [
      'outbound/deliver/failed-success.test.ts',
      'has acknowledged no change and no removal: what it has is kept as it was',
    ],
    [
      'outbound/deliver/failed-success.test.ts',
      'has not said that there is no invoice: the list stays, and the pull says why',
    ],
    [
      'outbound/deliver/lane-effects.test.ts',
      'lets others pass when the service says of one record, with a success status, that it failed',
    ],
    ['service/failure-mark.test.ts', 'means what the settings say of its code, and of no answer without a mark'],
  ],
  'One customer is refused, and all of its orders wait': [
    ['cli/status.test.ts', 'counts the orders of a customer whom nobody sends any more'],
    ['cli/explain.test.ts', 'says that an order waits for its customer, and why that one is parked'],
    ['outbound/deliver/outage.test.ts', 'never holds up another, and its dependants say whom they wait for'],
  ],
  'The service refuses everything': [
    ['outbound/deliver/pauses.test.ts', 'pauses the lane after ten equal refusals in a row'],
  ],
  'The service acknowledged another total': [
    ['outbound/deliver/deliver.test.ts', 'delivers with a flag when the service acknowledges another total'],
  ],
  'Somebody edited the order while it was waiting': [
    ['outbound/deliver/changes.test.ts', 'before it was sent goes out once, as it is now'],
    ['outbound/deliver/changes.test.ts', 'while its create is under way is created first and then changed'],
    ['outbound/deliver/changes.test.ts', 'from A to B to A to B ends at B, whether each is delivered or only the last'],
    [
      'outbound/capture/capture.test.ts',
      'finds an edited line by the sweep when the ERP does not move the order’s time of change',
    ],
  ],
  "An order was entered, and Waybill doesn't know it": [
    ['cli/explain.test.ts', 'says what was looked up, and why a record may be unknown'],
    ['e2e/bad-input.test.ts', 'parks each bad order with its reason, and delivers its neighbours'],
    ['outbound/capture/capture.test.ts', 'tries a row again that was corrected, and one whose customer came later'],
  ],
  'A number was wrong in the ERP, and corrected after the refusal': [
    [
      'outbound/capture/restored-erp.test.ts',
      'is no cause to doubt a code or number that is corrected before the service has the record',
    ],
    [
      'outbound/deliver/changes.test.ts',
      'takes the place of the create when the correction came in while that was under way',
    ],
  ],
  'An order was cancelled or deleted': [
    ['outbound/capture/capture-removals.test.ts', 'stays at the service by default, whether cancelled or deleted'],
    [
      'outbound/capture/capture-removals.test.ts',
      'is deleted there when it is cancelled and that is configured, also between two sweeps',
    ],
    [
      'outbound/capture/capture-removals.test.ts',
      'is marked there with the configured fields alone where nothing else is known of it, and whole when it comes back',
    ],
    [
      'outbound/capture/capture-removals.test.ts',
      'waits for a person where it would have to be replaced as a whole, and nothing is known of it',
    ],
    [
      'outbound/capture/capture-removals.test.ts',
      'is never sent when it was cancelled before, and sent when that is taken back',
    ],
    [
      'outbound/capture/capture-removals.test.ts',
      'is removed there by … after its create, also when an edit waits behind that one already',
    ],
    ['outbound/capture/capture-removals.test.ts', 'is deleted there once it was missing in two sweeps, and not before'],
    [
      'outbound/capture/capture-removals.test.ts',
      'is not deleted there because one sweep missed it and broke off, and another one missed it at once',
    ],
    [
      'outbound/capture/capture-removals.test.ts',
      'is not taken for removed because there is nothing at a mistyped address, and never made twice',
    ],
    ['outbound/capture/capture-removals.test.ts', 'is done when the service says that it has no such order any more'],
    ['cli/explain.test.ts', 'says that a record was removed, or withdrawn before it was sent'],
  ],
  'Very many were edited or cancelled at once': [
    [
      'outbound/capture/apply-safety-limits.test.ts',
      'is not ended by a yes to something else, while the person looks at the list',
    ],
    [
      'outbound/capture/apply-safety-limits.test.ts',
      'lets go only the messages that were shown, whatever their numbers',
    ],
    [
      'outbound/capture/apply-safety-limits.test.ts',
      'is told as over when what it held is taken back, and told again the next time',
    ],
    [
      'outbound/capture/apply-safety-limits.test.ts',
      'holds more updates in a pass than maxUpdates, all of them, and creates go on',
    ],
    ['outbound/capture/capture-removals.test.ts', 'waits for a person together with many others'],
    ['cli/confirm.test.ts', 'shows the list first: counts, fields, rows'],
    ['cli/confirm.test.ts', 'is the only way: outbox retry lets nothing go that is on hold'],
  ],
  'An order lost a line': [
    [
      'outbound/capture/lost-lines.test.ts',
      'is held and said, and leaves the order as it is, when the product of a line is gone',
    ],
    [
      'outbound/capture/lost-lines.test.ts',
      'is sent when a person says so, and taken back when the line is there again',
    ],
  ],
  'Somebody changed the mapping': [
    [
      'outbound/capture/apply-safety-limits.test.ts',
      'holds a mapping edit that touches … orders, counts it by field, and sends it when a person says so',
    ],
    [
      'outbound/capture/apply-safety-limits.test.ts',
      'takes a changed mapping as the new baseline without sending anything, and follows edits from there',
    ],
  ],
  'A customer was there already, entered by hand in the service': [
    [
      'outbound/adoption/adopt-customers.test.ts',
      'is bound, its orders go on, and what differs is held until somebody has looked',
    ],
    ['outbound/adoption/adopt-customers.test.ts', 'lets no later edit write over what nobody has looked at'],
    ['outbound/adoption/adopt-customers.test.ts', 'is left to a person when the service …'],
    [
      'outbound/deliver/deliver.test.ts',
      'parks a customer that exists under another key where none is adopted, and sends no order of it',
    ],
    ['e2e/adopt.test.ts', 'takes all orders, makes nothing twice, and lists what differs, also after kill -9'],
  ],
  'An order was entered by hand in the service as well': [
    ['cli/outbox.test.ts', 'closes what was never sent and what is parked, and keeps the park class for capture'],
  ],
  'A person asked for erasure': [
    ['cli/forget.test.ts', 'erases bodies, answers and reasons, and keeps key, id and hash'],
    ['cli/forget.test.ts', 'finds no word about a person in the audit, whatever the service or the row said'],
  ],
  'The ERP was restored from yesterday': [
    [
      'outbound/capture/restored-erp.test.ts',
      'changes nothing at the service before a person confirms, and then what that person says',
    ],
    [
      'outbound/capture/restored-erp.test.ts',
      'is noticed also when more was entered than was lost before anybody looked',
    ],
    ['outbound/capture/restored-erp.test.ts', 'overwrites no customer with another who got the key'],
    ['cli/status.test.ts', 'shows what is on hold, and what to say'],
    [
      'outbound/capture/capture-removals.test.ts',
      'is not meant when the ERP was restored from yesterday, and ids are used again',
    ],
  ],
  'The key columns or the ERP database changed in the settings': [
    [
      'outbound/capture/source-keys.test.ts',
      'that name other columns hold capture and delivery before anything is written',
    ],
    ['outbound/capture/source-keys.test.ts', 'of a database that moved are the same once a person says so'],
    ['operator/rekey.test.ts', 'keep their ids at the service when another column becomes the key'],
    ['operator/rekey.test.ts', 'wait for a person where nothing tells which is which, and none of them is sent twice'],
    ['operator/rekey.test.ts', 'stay behind where the ERP has them no more, and nothing follows from that'],
    ['operator/rekey.test.ts', 'hold everything when a run breaks off at any point, until another one has finished it'],
    [
      'e2e/cloned-machine.test.ts',
      'that reads a copy in which all orders have other ids gives them these, and sends nothing a second time',
    ],
  ],
  'A record got another key in the ERP': [
    ['operator/rekey-record.test.ts', 'is held with "renamed?", and neither sent a second time nor removed'],
    [
      'operator/rekey-record.test.ts',
      'goes on under its new key after `rekey OLD NEW`, as the same record of the service',
    ],
    ['operator/rekey-record.test.ts', 'takes its orders along where it is a customer'],
    ['operator/rekey-record.test.ts', 'stays as it is where …'],
    ['operator/rekey-record.test.ts', 'is sent as one of its own where a person says that it is another'],
    ['cli/rekey-record.test.ts', 'gives one record the key that its row has now, as the reason that holds it says'],
  ],
  'A customer took over the code of another': [
    ['outbound/deliver/customer-code.test.ts', 'neither its orders nor new ones go to the other record'],
    ['outbound/deliver/customer-code.test.ts', 'when the code is put back, the orders go to their own customer'],
  ],
  'A table was empty for a minute': [
    ['outbound/capture/emptied-table.test.ts', 'changes nothing at the service: …'],
    [
      'outbound/capture/source-hold.test.ts',
      'ends by itself when rows are back, but a restored ERP waits for a person',
    ],
  ],
  'Nothing is written back into the ERP any more': [
    ['inbound/write-back/write-back.test.ts', 'names the grant that is missing, while everything else goes on'],
    [
      'inbound/write-back/write-back.test.ts',
      'stops for a missing table or column only what needs it, says which, and makes good for it',
    ],
  ],
  'A row was committed late, or many at the same moment': [
    ['outbound/capture/capture.test.ts', 'finds a row that came in late: by the overlap, or else by the sweep'],
    [
      'outbound/capture/equal-times.test.ts',
      'are all found by the cursor and by the sweep, a page at a time, also those that were committed late',
    ],
  ],
  'The ERP is away': [
    ['daemon/tell-alerts.test.ts', 'tell of an ERP that can not be read and of its return, and never hold delivery up'],
    ['e2e/boot.test.ts', 'goes on without the ERP, and ends in peace'],
  ],
  'A value of one row stops capture': [
    [
      'db/postgres-erp.test.ts',
      'that fail on a row are named when some rows show it, and say what to do where a later one does',
    ],
  ],
  'We cloned the server, or read a copy of the ERP': [
    [
      'e2e/cloned-machine.test.ts',
      'with store, settings and witness, under another name: captures, and sends nothing of it',
    ],
    ['e2e/cloned-machine.test.ts', 'sends what is new when a person says so, and nothing a second time'],
    [
      'e2e/cloned-machine.test.ts',
      'that reads a copy of the ERP on the same host sends nothing of it, until a person says so',
    ],
  ],
  'Somebody else sent an order under our key': [
    [
      'outbound/deliver/changes.test.ts',
      'is brought to its newest form when a person says which record stands behind a conflict',
    ],
    [
      'outbound/deliver/changes.test.ts',
      'waits with its change while something else stands under its key at the service, and makes no second one',
    ],
  ],
  'The store is gone': [
    ['outbound/recovery/recover-doubts.test.ts', 'no binding of an old export…'],
    [
      'outbound/recovery/recover-proof.test.ts',
      'not that a row was never sent which could not be mapped in that moment',
    ],
    [
      'outbound/recovery/recover-proof.test.ts',
      'not that a row was never sent which waits for its lines in that moment',
    ],
    [
      'outbound/recovery/recover-proof.test.ts',
      'no yes to a change that was on hold in a copy, whatever was sent since',
    ],
    [
      'outbound/recovery/recover-proof.test.ts',
      'that every field of an adopted record may be said, because a copy had one to say',
    ],
    ['operator/recover.test.ts', 'closes also what a pass is writing as new in that moment'],
    [
      'operator/recover.test.ts',
      'changes nothing with the second when the first has ended before it could …, and says so',
    ],
    ['outbound/recovery/recover-doubts.test.ts', 'counts the updates for capture.maxUpdates'],
    ['outbound/recovery/recover-doubts.test.ts', 'holds what another mapping makes of them'],
    ['outbound/recovery/recover-doubts.test.ts', 'sends none again that was on hold'],
    ['e2e/go-live.test.ts', 'a lost store is held again, and after the confirmation there is no second record'],
    ['e2e/recover.test.ts', 'without any proof parks what may exist, so that nothing is made twice'],
    ['e2e/recover.test.ts', 'gets every binding back from an export, and sends every record once as an update'],
    [
      'e2e/recover.test.ts',
      'asks the service for each record where it can be asked, whatever it has forgotten of the keys',
    ],
    ['e2e/recover.test.ts', 'removes what was cancelled while nobody knew whether it had been sent'],
  ],
  'The store is gone, and its witness too': [
    ['e2e/lost-with-witness.test.ts', 'sends nothing a second time, when a person recovers it from an export'],
    [
      'e2e/lost-with-witness.test.ts',
      'is held while it is recovered under a running daemon, which then goes on by itself',
    ],
    ['cli/recover.test.ts', 'waybill recover, asked in every way of a store in every state'],
  ],
  'The file of the store is damaged': [
    ['store/store.test.ts', 'is no store that may come back where its file is …: the advice is to restore a copy'],
    ['store/store.test.ts', 'is found damaged by doctor where one page of its file is'],
  ],
  'The witness file is gone': [
    ['e2e/lost-with-witness.test.ts', 'sends nothing a second time, when the copy of last night takes its place'],
    [
      'e2e/lost-with-witness.test.ts',
      'goes on with the same store and its queue, when a person says that only the witness was lost',
    ],
    ['outbound/recovery/store-witness.test.ts', 'leaves a running store alone whose witness file is deleted'],
  ],
  'The store went back while Waybill ran': [
    [
      'store/went-back.test.ts',
      'is noticed before the next write of a holder, which writes nothing, and held on record',
    ],
    [
      'e2e/moved-store.test.ts',
      'ends with words, writes into no file that nobody sees, and the next one holds delivery',
    ],
  ],
  "We restored last week's backup of the store": [
    ['e2e/recover.test.ts', 'knows a restored copy by its witness, and learns again what was sent after it was made'],
    [
      'e2e/recover.test.ts',
      'keeps the bytes of a create that the copy took for unsent, and sends what changed since as an update',
    ],
    ['e2e/recover.test.ts', 'refuses to send again what the service may have forgotten'],
    ['outbound/recovery/forgotten-keys.test.ts', 'sends no order a second time, and says why'],
    ['outbound/recovery/forgotten-keys.test.ts', 'asks for each order where it can be asked'],
    [
      'outbound/recovery/forgotten-keys.test.ts',
      'trusts the keys of the other orders where one customer exists that others made',
    ],
    ['operator/listed-records.test.ts', 'are all resolved by one list of their numbers, each with a line in the audit'],
    [
      'operator/listed-records.test.ts',
      'are judged one by one: a line that can not be right is left, and the others are done',
    ],
    ['operator/listed-records.test.ts', 'are adopted by a list, and every field of them is sent once more'],
    ['operator/listed-records.test.ts', 'are all looked up when a person says so, and settled where that proves them'],
    [
      'outbound/recovery/recover-proof.test.ts',
      'that a record came back, also when it is cancelled again before anything else is said of it',
    ],
    [
      'outbound/recovery/recover-proof.test.ts',
      'that a removal has ended which a copy was in doubt of, when the record came back since',
    ],
    [
      'outbound/recovery/recover-proof.test.ts',
      'that an update has ended which a copy was sending, when the record is gone since',
    ],
    [
      'outbound/recovery/recover-proof.test.ts',
      'that a record is there which a copy knows to be removed, when it came back since',
    ],
    [
      'outbound/recovery/recover-proof.test.ts',
      'that a record is gone which a copy knows to be there, with … changes captured since',
    ],
    ['outbound/recovery/recover-proof.test.ts', 'that a create of a copy was acknowledged, when an export says so'],
    ['outbound/recovery/recover-proof.test.ts', 'no field of what an operator sends again'],
    [
      'operator/recover.test.ts',
      'believes no field of what … found, also where the row is as it was when the copy was made',
    ],
    [
      'operator/recover.test.ts',
      'believes no field of a refused order that the lost store sent again, and keeps when it was sent first',
    ],
    ['operator/recover.test.ts', 'takes no repeated answer for proof of what the service holds'],
    [
      'outbound/capture/capture.test.ts',
      'reads everything once more when somebody asked for that while it did, whether that one was asked for or due',
    ],
    [
      'outbound/recovery/recover-doubts.test.ts',
      'no acknowledgement of an update that a copy was sending, from a service that … it',
    ],
    ['outbound/recovery/recover-doubts.test.ts', 'no binding of a copy, whatever the ERP says has changed'],
    [
      'outbound/recovery/recover-doubts.test.ts',
      'that it is an older copy, also of a store from before an earlier recovery',
    ],
    ['outbound/recovery/store-witness.test.ts', 'a restored copy, when the store is behind'],
    ['outbound/recovery/store-witness.test.ts', 'a restored copy, when the store was replaced by a recovery since'],
  ],
  'Two daemons were started': [
    ['e2e/daemon.test.ts', 'makes a second daemon stand by and say so, which takes over when the first one stops'],
    [
      'e2e/standby.test.ts',
      'deliver each order once when the deliverer is killed and its successor is paused past its lease',
    ],
    ['outbound/deliver/go-live.test.ts', 'sends nothing until a person allows this very machine'],
    ['service/frozen-sender.test.ts', 'sends not a byte when it finds out …'],
    [
      'service/frozen-sender.test.ts',
      'sends not a byte over a kept connection, which it is given only after all that run in the same turn',
    ],
  ],
  'The database restarted': [
    ['e2e/databases.test.ts', 'goes on where it was when the server of ERP and store is killed and comes back'],
    ['e2e/databases.test.ts', 'does nothing twice when the word for a commit is lost, again and again'],
    ['store/store.test.ts', 'rolls back after a lock wait timeout, and keeps no half when it runs again'],
    ['store/store.test.ts', 'cuts a connection on which no answer comes, says so, and goes on'],
    ['e2e/boot.test.ts', 'waits for the store, and begins when it is there'],
  ],
  'Redis is gone': [
    ['outbound/dispatch/redis-faults.test.ts', 'goes on when Redis is killed, each order once'],
    ['outbound/dispatch/redis-faults.test.ts', 'takes its turns from Redis again once it is back, and says so'],
    ['outbound/dispatch/dispatchers.test.ts', 'of a node tell a person when Redis stays away, and when it is back'],
  ],
  'The disk is full': [
    ['store/store.test.ts', 'keeps nothing of what did not fit, says so, and goes on when there is room again'],
    [
      'outbound/deliver/full-disk.test.ts',
      'sends nothing that is not on record, and goes on when there is room again (… pages were left)',
    ],
  ],
  'The list of invoices changed while it was read': [
    ['inbound/invoices/pull.test.ts', 'reads on when the list changes between two pages'],
    [
      'inbound/invoices/pull.test.ts',
      'is not deceived when one is paid and one is added, so that the total stays the same',
    ],
    [
      'inbound/invoices/pull.test.ts',
      'ends on a list that never holds still, takes what it met, and takes off nothing',
    ],
    [
      'inbound/invoices/list-proof-histories.test.ts',
      'proves only what was the list of one moment, takes off nothing without a proof of its own, and ends',
    ],
    [
      'inbound/invoices/changing-invoices.test.ts',
      'prove only what was the list of one moment, take off only what has left, and that within three pulls',
    ],
  ],
  "Most invoices were missing from the service's list": [
    [
      'inbound/invoices/safety-limit.test.ts',
      'waits for a person: the list stays whole, with an alert that says how many and which, until the service shows it again',
    ],
    [
      'inbound/invoices/safety-limit.test.ts',
      'goes when a person confirms it, exactly as it was shown: what is met again stays, and what is missing since is judged anew',
    ],
    ['cli/confirm.test.ts', 'takes off the invoices that are held, after it has shown them, and says so in the audit'],
  ],
  'The power went while it was reading invoices': [
    [
      'e2e/killed-pull.test.ts',
      'goes on with the next one, reads no page twice in a reading, and shows nobody half a list',
    ],
    ['e2e/killed-pull.test.ts', 'reads again only the page that was not kept'],
  ],
  'An invoice of the service makes no sense': [
    [
      'inbound/invoices/pull.test.ts',
      'sets a malformed invoice aside and proves the list all the same, credit notes among it',
    ],
    [
      'inbound/invoices/swap-invoices.test.ts',
      'keeps what makes no sense apart, with the reason and since when, until it makes sense or is gone',
    ],
  ],
  'The service gives amounts with a decimal point': [
    ['outbound/deliver/failed-success.test.ts', 'is left unread, and swaps nothing in: whole ones among decimals'],
    ['service/verdict.test.ts', 'compares no total of 13.00 with amounts in the smallest unit, and names the setting'],
  ],
  'The clock of the server was wrong, and is set right': [
    [
      'outbound/deliver/clock-set-back.test.ts',
      'is no proof that the service remembers a key: what is in doubt waits for a person',
    ],
    ['outbound/deliver/clock-set-back.test.ts', 'is looked up instead, where the service can be asked'],
    [
      'outbound/deliver/clock-set-back.test.ts',
      'is not waited for: what was captured goes out, and the next pass sweeps',
    ],
    ['store/leases.test.ts', 'of one who died is not waited for until a time to which the clock was wrongly set'],
  ],
  'It failed, and we were not told': [
    ['daemon/tell-alerts.test.ts', 'are told once per cause, and once when it is over, however often it is looked'],
    [
      'cli/status.test.ts',
      'is 2 when nothing has succeeded for alert.maxSilenceHours, and 0 again when something does',
    ],
  ],
};
