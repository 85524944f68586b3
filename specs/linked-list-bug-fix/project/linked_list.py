"""A singly linked list that knows its last node."""


class Node:
    def __init__(self, value):
        self.value = value
        self.next = None


class LinkedList:
    def __init__(self, values=()):
        self.head = None
        self.tail = None
        self.length = 0
        for value in values:
            self.append(value)

    def __len__(self):
        return self.length

    def __iter__(self):
        node = self.head
        while node is not None:
            yield node.value
            node = node.next

    def append(self, value):
        node = Node(value)
        if self.tail is None:
            self.head = node
        else:
            self.tail.next = node
        self.tail = node
        self.length += 1

    def remove(self, value):
        """Removes the first node with this value."""
        # FIXME: values that are appended after a removal sometimes disappear.
        previous, node = None, self.head
        while node is not None:
            if node.value == value:
                if previous is None:
                    self.head = node.next
                else:
                    previous.next = node.next
                self.length -= 1
                return
            previous, node = node, node.next
        raise ValueError(f"{value!r} is not in the list")
