import type { Dice } from './dice.js';
import type { CustomerRow, OrderRow } from './erp.js';
import type { Operations } from './operation.js';
import type { World } from './world.js';

const minuteMs = 60_000;

type OnOrder = (world: World, order: OrderRow, dice: Dice) => string | null;
type OnCustomer = (world: World, customer: CustomerRow, dice: Dice) => string | null;

const onOrder = (act: OnOrder) => (world: World, dice: Dice) => {
  const order = dice.pickOrNull(world.erp.orders());
  return order && act(world, order, dice);
};
const onCustomer = (act: OnCustomer) => (world: World, dice: Dice) => {
  const customer = dice.pickOrNull(world.erp.customers());
  return customer && act(world, customer, dice);
};
const nameOf = ({ id, number, ref }: OrderRow) => `order ${id} (${number}, ${ref})`;

/** Texts and figures that an ERP should not hold, and does. */
const oddTexts = ['', ' ', 'ö€漢', '🙂'.repeat(5), 'x'.repeat(300), 'a\u0000b', "'; --", '=1+1', 'line\nbreak', null];
const oddFigures = ['0', '-1', '2.5', '1e3', '', 'many', '99999999999999999999', '95', null];

/** The deeds of people in an ERP all day. */
export const orderOperations: Operations = {
  'create an order': ({ erp }, dice) => {
    erp.addOrder(dice);
    return 'a new order';
  },
  'create several orders': ({ erp }, dice) => {
    for (let i = 0; i < 3; i++) erp.addOrder(dice);
    return 'three new orders';
  },
  'edit the lines': onOrder(({ erp }, order, dice) => {
    erp.setLines(order, erp.drawLines(dice), true);
    return `other lines in ${nameOf(order)}`;
  }),
};

/** The operations of people, imports and the database itself in the ERP. */
export const erpOperations: Operations = {
  'create an order that commits late': ({ erp }, dice) => {
    const agoMs = dice.pick([1, 5, 20, 90]) * minuteMs;
    erp.addOrder(dice, { agoMs });
    return `a new order, which says that it changed ${agoMs / minuteMs} min ago`;
  },
  'create a draft': ({ erp }, dice) => {
    erp.addOrder(dice, { status: 'draft' });
    return 'a new draft';
  },
  'save the header without its lines': ({ erp }, dice) => {
    erp.addOrder(dice, { isHalf: true });
    return 'a new order whose lines come later';
  },
  'save the lines that are missing': ({ erp }) => {
    erp.saveOtherHalves();
    return 'the lines that were missing';
  },
  'edit the lines without a sign': onOrder(({ erp }, order, dice) => {
    erp.setLines(order, erp.drawLines(dice), false);
    return `other lines in ${nameOf(order)}, whose changed-at stays`;
  }),
  'reorder the lines': onOrder(({ erp }, order) => {
    erp.setLines(order, erp.linesOf(order.id).reverse(), true);
    return `the lines of ${nameOf(order)} the other way round`;
  }),
  'take a line away': onOrder(({ erp }, order) => {
    erp.setLines(order, erp.linesOf(order.id).slice(1), true);
    return `${nameOf(order)} loses its first line`;
  }),
  'edit the remark': onOrder(({ erp }, order, dice) => {
    erp.setOrder(order, { remark: dice.pick(['soon', 'later', 'by air', null]) });
    return `another remark on ${nameOf(order)}`;
  }),
  'give the order to another customer': onOrder(({ erp }, order, dice) => {
    const customer = dice.pickOrNull(erp.customers());
    if (!customer) return null;
    erp.setOrder(order, { customer_id: customer.id });
    return `${nameOf(order)} belongs to customer ${customer.id} now`;
  }),
  'give the order to nobody': onOrder(({ erp }, order) => {
    erp.setOrder(order, { customer_id: null });
    return `${nameOf(order)} belongs to nobody`;
  }),
  'cancel an order': onOrder(({ erp }, order) => {
    erp.setOrder(order, { status: 'cancelled' });
    return `${nameOf(order)} is cancelled`;
  }),
  'confirm an order again': onOrder(({ erp }, order) => {
    erp.setOrder(order, { status: 'confirmed' });
    return `${nameOf(order)} is confirmed`;
  }),
  'make an order a draft again': onOrder(({ erp }, order) => {
    erp.setOrder(order, { status: 'draft' });
    return `${nameOf(order)} is a draft again`;
  }),
  'delete an order': onOrder(({ erp }, order) => {
    erp.removeOrder(order);
    return `${nameOf(order)} is deleted`;
  }),
  'bring a deleted order back': ({ erp }) => {
    if (erp.removed().length === 0) return null;
    erp.bringBack();
    return 'the order that was deleted last is back';
  },
  'change a number': onOrder(({ erp }, order) => {
    const number = erp.nextNumber();
    erp.setOrder(order, { number });
    return `${nameOf(order)} is called ${number} now`;
  }),
  'swap two numbers': onOrder(({ erp }, order, dice) => {
    const other = dice.pickOrNull(erp.orders().filter(({ id }) => id !== order.id));
    if (!other) return null;
    erp.together(() => {
      erp.setOrder(order, { number: other.number });
      erp.setOrder(other, { number: order.number });
    });
    return `${nameOf(order)} and ${nameOf(other)} swap their numbers`;
  }),
  'use a number again': ({ erp }, dice) => {
    const used = dice.pickOrNull([...erp.orders(), ...erp.removed()]);
    if (!used) return null;
    erp.addOrder(dice, { number: used.number });
    return `a new order with the number of ${nameOf(used)}`;
  },
  'change the key of an order': onOrder(({ erp }, order) => {
    const id = erp.freeId();
    erp.moveOrder(order, id);
    return `${nameOf(order)} has the key ${id} now`;
  }),
  'use the key of a deleted order again': ({ erp }, dice) => {
    const gone = dice.pickOrNull(erp.removed().filter(({ id }) => erp.orders().every((one) => one.id !== id)));
    if (!gone) return null;
    erp.addOrder(dice, { id: gone.id });
    return `a new order under the key ${gone.id}`;
  },
  'replace an order by a copy': onOrder(({ erp }, order, dice) => {
    erp.removeOrder(order);
    erp.addOrder(dice, { number: order.number });
    return `${nameOf(order)} is deleted, and a new order has its number`;
  }),
  'spell the key of an order otherwise': onOrder(({ erp }, order, dice) => {
    const okey = dice.pick([order.okey.toLowerCase(), `${order.okey} `, order.okey.toUpperCase(), order.okey.trim()]);
    erp.setOrder(order, { okey });
    return `${nameOf(order)} spells its text key ${JSON.stringify(okey)}`;
  }),
  'write something odd into a line': onOrder(({ erp }, order, dice) => {
    const [first, ...rest] = erp.linesOf(order.id);
    if (!first) return null;
    const odd = dice.chance(0.5) ? { qty: dice.pick(oddFigures) as string } : { sku: dice.pick(oddTexts) };
    erp.together(() => {
      erp.writeLines(order.id, [{ ...first, ...odd }, ...rest]);
      erp.setOrder(order, {});
    });
    return `${nameOf(order)} has ${JSON.stringify(odd)} in its first line`;
  }),
  'write something odd into the header': onOrder(({ erp }, order, dice) => {
    const column = dice.pick(['number', 'remark', 'total', 'currency'] as const);
    const value = dice.pick(oddTexts);
    erp.setOrder(order, { [column]: value });
    return `${nameOf(order)} has ${JSON.stringify(value)} as its ${column}`;
  }),
  'mend an order': onOrder(({ erp }, order, dice) => {
    const customer = dice.pickOrNull(erp.customers());
    const number = typeof order.number === 'string' && /^SO-\d+$/.test(order.number) ? order.number : erp.nextNumber();
    erp.together(() => {
      erp.setOrder(order, {
        number,
        remark: null,
        currency: 'EUR',
        customer_id: order.customer_id ?? customer?.id ?? null,
      });
      erp.setLines(order, erp.drawLines(dice), true);
    });
    return `${nameOf(order)} is put in order`;
  }),
  'create a customer': ({ erp }) => {
    erp.addCustomer();
    return 'a new customer';
  },
  'rename a customer': onCustomer(({ erp }, customer, dice) => {
    erp.setCustomer(customer, { name: dice.pick(['Ada', 'Bo', 'Cy', 'Özgür & Söhne']) });
    return `customer ${customer.id} has another name`;
  }),
  'change a customer code': onCustomer(({ erp }, customer, dice) => {
    const code = dice.pick([`N-${customer.id}`, `C-${customer.id}`, `c-${customer.id}`, `C-${customer.id} `]);
    erp.setCustomer(customer, { code });
    return `customer ${customer.id} has the code ${JSON.stringify(code)}`;
  }),
  'swap two customer codes': onCustomer(({ erp }, customer, dice) => {
    const other = dice.pickOrNull(erp.customers().filter(({ id }) => id !== customer.id));
    if (!other) return null;
    erp.together(() => {
      erp.setCustomer(customer, { code: other.code });
      erp.setCustomer(other, { code: customer.code });
    });
    return `customers ${customer.id} and ${other.id} swap their codes`;
  }),
  'give two customers one code': onCustomer(({ erp }, customer, dice) => {
    const other = dice.pickOrNull(erp.customers().filter(({ id }) => id !== customer.id));
    if (!other) return null;
    erp.setCustomer(customer, { code: other.code });
    return `customer ${customer.id} has the code of customer ${other.id}`;
  }),
  'merge two customers': onCustomer(({ erp }, customer, dice) => {
    const other = dice.pickOrNull(erp.customers().filter(({ id }) => id !== customer.id));
    if (!other) return null;
    erp.together(() => {
      for (const order of erp.orders())
        if (order.customer_id === customer.id) erp.setOrder(order, { customer_id: other.id });
      erp.run('DELETE FROM customers WHERE id=?', customer.id);
    });
    return `customer ${customer.id} is merged into customer ${other.id}`;
  }),
  'change the key of a customer': onCustomer(({ erp }, customer) => {
    const id = erp.freeCustomerId();
    erp.moveCustomer(customer, id);
    return `customer ${customer.id} has the key ${id} now`;
  }),
  'close a customer': onCustomer(({ erp }, customer) => {
    erp.setCustomer(customer, { status: customer.status === 'closed' ? 'active' : 'closed' });
    return `customer ${customer.id} is ${customer.status === 'closed' ? 'open again' : 'closed'}`;
  }),
  'delete a customer': onCustomer(({ erp }, customer) => {
    erp.run('DELETE FROM customers WHERE id=?', customer.id);
    return `customer ${customer.id} is deleted`;
  }),
  'write something odd into a customer': onCustomer(({ erp }, customer, dice) => {
    const column = dice.pick(['code', 'name', 'email'] as const);
    const value = dice.pick(oddTexts);
    erp.setCustomer(customer, { [column]: value });
    return `customer ${customer.id} has ${JSON.stringify(value)} as its ${column}`;
  }),
  'mend a customer': onCustomer(({ erp }, customer) => {
    erp.setCustomer(customer, { code: `C-${customer.id}`, name: 'Mended', email: null, status: 'active' });
    return `customer ${customer.id} is put in order`;
  }),
  'back the ERP up': ({ erp }) => {
    erp.takeBackup();
    return 'a backup of the ERP is taken';
  },
  'restore the ERP': ({ erp }) => {
    if (!erp.backup) return null;
    erp.restoreBackup();
    return 'the ERP is restored from its backup';
  },
  'empty the ERP for an import': ({ erp }) => {
    erp.empty();
    return "the ERP's tables are empty for a moment";
  },
  'fill the ERP again': ({ erp }) => {
    erp.refill();
    return "the ERP's tables are filled again";
  },
  'set the clock of the ERP': ({ machine }, dice) => {
    machine.erpOffsetMs = dice.pick([0, -120, -30, 30, 120, 3 * 1440]) * minuteMs;
    return `the clock of the ERP is ${machine.erpOffsetMs / minuteMs} min off`;
  },
};

/** Any of it, in the ERP of the branch. */
export const branchOperations: Operations = Object.fromEntries(
  [orderOperations, erpOperations].flatMap((operations, nth) => [
    [
      nth === 0 ? 'an order in the branch' : 'something else in the branch',
      async (world: World, dice: Dice) => {
        if (!world.branch) return null;
        const what = await operations[dice.pick(Object.keys(operations))]?.(world.branch, dice);
        return what ? `in the branch: ${what}` : null;
      },
    ],
  ]),
);
