import { expect } from 'chai';
import { type Member, Roster } from '../../../kit/roster.ts';

describe('a roster', () => {
  const make = (name: string): Member & { name: string } => ({ name, place: -1 });
  const [one, two, three] = [make('one'), make('two'), make('three')];

  it('has its members, each until it is deleted', () => {
    const roster = new Roster<Member>();
    for (const member of [one, two, three]) roster.add(member);
    expect(roster.delete(one)).to.equal(true);
    expect([...roster]).to.have.members([two, three]);
    expect(roster.delete(three)).to.equal(true);
    expect(roster.delete(two)).to.equal(true);
    expect([...roster]).to.deep.equal([]);
  });

  it('says that it has not a member that was deleted, or never added', () => {
    const roster = new Roster<Member>();
    roster.add(one);
    roster.delete(one);
    expect([one, make('other')].map((member) => roster.delete(member))).to.deep.equal([false, false]);
  });

  it('takes a member again', () => {
    const roster = new Roster<Member>();
    for (const member of [one, two]) roster.add(member);
    roster.delete(one);
    roster.add(one);
    expect([...roster]).to.have.members([one, two]);
  });
});
